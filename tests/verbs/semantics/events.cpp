// Judges completion channels, asynchronous events, and completion queues that overflow.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

Channel make_channel() {
  Channel channel(ibv_create_comp_channel(device().context.get()));
  expect(channel != nullptr, "ibv_create_comp_channel failed");
  return channel;
}

void await_channel(ibv_comp_channel* channel, const ibv_cq* expected, void* user) {
  waiting_for("a completion event");
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  expect_works("ibv_get_cq_event", ibv_get_cq_event(channel, &cq, &context));
  expect(cq == expected, "the event is of another CQ");
  ibv_ack_cq_events(cq, 1);
  expect(context == user, "the event's context is not the CQ's");
}

bool is_ready(int fd) {
  pollfd ready{fd, POLLIN, 0};
  return poll(&ready, 1, 0) == 1;
}

void make_quiet(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  expect(fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0, "fcntl failed");
}

// A pair with a receiving end that gives events.
struct Signalling {
  Signalling() : channel(make_channel()) {
    cq = make_cq(64, channel.get(), &mark);
    Plan with_cq;
    with_cq.recv_cq = cq.get();
    pair = std::make_unique<Pair>(Plan{}, with_cq);
  }
  void arm(int solicited_only = 0) {
    expect_works("ibv_req_notify_cq", ibv_req_notify_cq(cq.get(), solicited_only));
  }
  // Sends a message. When this returns, the receive's completion is there, unpolled.
  void message(unsigned flags = 0) {
    pair->b.post_receive(++id);
    Request(IBV_WR_SEND, id, IBV_SEND_SIGNALED | flags).piece(pair->a.piece(0, 8)).post(pair->a);
    expect_completion("the send", pair->a.sent(), id, IBV_WC_SEND);
  }
  ibv_wc take() { return await_one(cq.get(), "the receive"); }

  int mark = 0;
  uint64_t id = 0;
  Channel channel;
  Cq cq;
  std::unique_ptr<Pair> pair;
};

void armed() {
  Signalling ends;
  ends.arm();
  ends.message();
  await_channel(ends.channel.get(), ends.cq.get(), &ends.mark);
  ends.take();
}

void not_armed() {
  Signalling ends;
  ends.message();
  ends.take();
  ends.arm();
  ends.message();
  await_channel(ends.channel.get(), ends.cq.get(), &ends.mark);
  ends.message();  // not armed again
  ends.take();
  ends.take();
  expect(!is_ready(ends.channel->fd), "an event came although none was asked for");
}

void once() {
  Signalling ends;
  ends.arm();
  ends.arm();
  ends.message();
  ends.message();
  await_channel(ends.channel.get(), ends.cq.get(), &ends.mark);
  ends.take();
  ends.take();
  expect(!is_ready(ends.channel->fd), "one request gave two events");
}

// Only a completion after the request gives an event, so users poll once more after the request.
void already_there() {
  Signalling ends;
  ends.message();
  ends.arm();
  expect_completion("the completion from before", ends.take(), 1, IBV_WC_RECV);
  ends.message();
  await_channel(ends.channel.get(), ends.cq.get(), &ends.mark);
  ends.take();
}

void solicited() {
  Signalling ends;
  ends.arm(1);
  ends.message();
  ends.take();
  expect(!is_ready(ends.channel->fd), "an unsolicited message gave an event");
  ends.message(IBV_SEND_SOLICITED);
  await_channel(ends.channel.get(), ends.cq.get(), &ends.mark);
  ends.take();
}

void errors_are_solicited() {
  Signalling ends;
  ends.arm(1);
  ends.pair->b.post_receive(5);
  expect_works("to ERR", go_to(ends.pair->b.qp.get(), IBV_QPS_ERR));
  await_channel(ends.channel.get(), ends.cq.get(), &ends.mark);
  expect_status("the receive", IBV_WC_WR_FLUSH_ERR, ends.take());
}

// A request for all events overrides one for solicited events.
void all_outdoes_solicited() {
  Signalling ends;
  ends.arm(0);
  ends.arm(1);
  ends.message();
  await_channel(ends.channel.get(), ends.cq.get(), &ends.mark);
  ends.take();
}

void sends_give_events() {
  const Channel channel = make_channel();
  Pair pair;
  const Cq cq = make_cq(16, channel.get());
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq.get();
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  const Qp qp(ibv_create_qp(pair.a.pd, &init));
  expect(qp != nullptr, "ibv_create_qp failed");
  End peer;
  Address own = peer.address();
  own.qp_num = qp->qp_num;
  peer.connect(own);
  expect_works("to INIT", apply(qp.get(), init_step(IBV_QPT_RC)));
  expect_works("to RTR", apply(qp.get(), rtr_step(IBV_QPT_RC, peer.address())));
  expect_works("to RTS", apply(qp.get(), rts_step(IBV_QPT_RC)));
  peer.post_receive(1);
  expect_works("ibv_req_notify_cq", ibv_req_notify_cq(cq.get(), 0));
  expect_works("posting a send",
               Request(IBV_WR_SEND, 2).piece(pair.a.piece(0, 8)).try_post(qp.get()));
  await_channel(channel.get(), cq.get(), nullptr);
  expect_completion("the send", await_one(cq.get(), "the send"), 2, IBV_WC_SEND);
}

void two_queues_one_channel() {
  const Channel channel = make_channel();
  Plan plan;
  plan.channel = channel.get();
  Pair first(Plan{}, plan);
  Pair second(Plan{}, plan);
  for (Pair* pair : {&second, &first}) {
    expect_works("ibv_req_notify_cq", ibv_req_notify_cq(pair->b.recv_cq, 0));
    pair->b.post_receive(1);
    Request(IBV_WR_SEND, 1).piece(pair->a.piece(0, 8)).post(pair->a);
    await_channel(channel.get(), pair->b.recv_cq, nullptr);
  }
}

void nonblocking() {
  Signalling ends;
  make_quiet(ends.channel->fd);
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  errno = 0;
  expect(ibv_get_cq_event(ends.channel.get(), &cq, &user) != 0, "an event out of nothing");
  expect_error("errno of an empty channel", EAGAIN, errno);
  make_quiet(device().context->async_fd);
  ibv_async_event event{};
  errno = 0;
  expect(ibv_get_async_event(device().context.get(), &event) != 0, "an event out of nothing");
  expect_error("errno without events", EAGAIN, errno);
}

void channel_in_use() {
  Signalling ends;
  expect_error("destroying a channel with a CQ", EBUSY,
               ibv_destroy_comp_channel(ends.channel.get()));
}

// A CQ that has no place for a completion fails, and the device reports it by an event.
void overflow() {
  const Cq cq = make_cq(2);
  const auto places = static_cast<uint32_t>(cq->cqe);
  if (places > 1000) skip("device has no small completion queues");
  Plan plan;
  plan.recv_cq = cq.get();
  plan.recv_depth = places + 4;
  Plan sender;
  sender.send_depth = places + 4;
  Pair pair(sender, plan);
  for (uint64_t id = 0; id < places + 4; ++id)
    pair.b.post_receive(id);
  for (uint64_t id = 0; id < places + 4; ++id) {
    Request(IBV_WR_SEND, id, 0).piece(pair.a.piece(0, 8)).post(pair.a);
  }
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_CQ_ERR);
  const bool own = event.element.cq == cq.get();
  ibv_ack_async_event(&event);
  expect(own, "the event is of another CQ");
}

void exactly_full() {
  const Cq cq = make_cq(4);
  const auto places = static_cast<uint32_t>(cq->cqe);
  expect(places >= 4, "the CQ is smaller than asked for");
  if (places > 1000) skip("device has no small completion queues");
  Plan plan;
  plan.recv_cq = cq.get();
  plan.recv_depth = places;
  Plan sender;
  sender.send_depth = places;
  Pair pair(sender, plan);
  for (uint64_t id = 0; id < places; ++id)
    pair.b.post_receive(id);
  for (uint64_t id = 0; id < places; ++id) {
    const unsigned flags = id + 1 == places ? IBV_SEND_SIGNALED : 0;
    Request(IBV_WR_SEND, id, flags).piece(pair.a.piece(0, 8)).post(pair.a);
  }
  expect_status("the last send", IBV_WC_SUCCESS, pair.a.sent());
  uint64_t next = 0;
  for (const ibv_wc& wc : await(cq.get(), places, "a full CQ")) {
    expect_completion("a receive", wc, next++, IBV_WC_RECV);
  }
}

constexpr Case kCases[] = {
    {"events.armed", armed},
    {"events.not-armed", not_armed},
    {"events.once", once},
    {"events.already-there", already_there},
    {"events.solicited", solicited},
    {"events.errors-are-solicited", errors_are_solicited},
    {"events.all-outdoes-solicited", all_outdoes_solicited},
    {"events.sends-give-events", sends_give_events},
    {"events.two-queues-one-channel", two_queues_one_channel},
    {"events.nonblocking", nonblocking},
    {"events.channel-in-use", channel_in_use},
    {"events.overflow", overflow},
    {"events.exactly-full", exactly_full},
};

}  // namespace

std::span<const Case> event_cases() {
  return kCases;
}

}  // namespace semantics
