// Judges that verbs may be called from any thread at any time, and that destroying waits until
// events are acknowledged.
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

constexpr uint64_t kEach = 200;

// Posts kEach sends with numbers that begin at `first`. Another thread empties a full queue.
void post_all(ibv_qp* qp, const ibv_sge& sge, uint64_t first, std::atomic<int>& failures) {
  for (uint64_t id = first; id < first + kEach; ++id) {
    int error = ENOMEM;
    while (error == ENOMEM) {
      error = Request(IBV_WR_SEND, id).piece(sge).try_post(qp);
      if (error == ENOMEM) sched_yield();
    }
    if (error != 0) ++failures;
  }
}

// Two threads post to one queue pair. Each request is done once, and those of a thread in their
// order.
void two_posters() {
  // A device may free places in the send queue before completions are polled, so all must fit in
  // the CQ.
  Plan sender;
  sender.cq_depth = 2 * kEach;
  Plan deep = sender;
  deep.recv_depth = 2 * kEach;
  Pair pair(sender, deep);
  for (uint64_t id = 0; id < 2 * kEach; ++id)
    pair.b.post_receive(id);
  std::atomic<int> failures = 0;
  const ibv_sge sge = pair.a.piece(0, 8);
  std::thread first([&] { post_all(pair.a.qp.get(), sge, 0, failures); });
  std::thread second([&] { post_all(pair.a.qp.get(), sge, 1000, failures); });
  uint64_t next[2] = {0, 1000};
  std::string wrong;
  for (const ibv_wc& wc : await(pair.a.send_cq.get(), 2 * kEach, "the sends of two threads")) {
    uint64_t& expected = next[wc.wr_id >= 1000 ? 1 : 0];
    if (wc.status != IBV_WC_SUCCESS) wrong = ibv_wc_status_str(wc.status);
    if (wc.wr_id != expected) wrong = "out of order: " + std::to_string(wc.wr_id);
    ++expected;
  }
  first.join();
  second.join();
  expect(wrong.empty(), wrong);
  expect_equal("refused sends", 0, failures.load());
  await(pair.b.recv_cq, 2 * kEach, "their receives");
}

void two_pollers() {
  Plan deep;
  deep.recv_depth = kEach;
  deep.cq_depth = 2 * kEach;
  Pair pair(Plan{}, deep);
  for (uint64_t id = 0; id < kEach; ++id)
    pair.b.post_receive(id);
  std::vector<std::atomic<int>> seen(kEach);
  std::atomic<uint64_t> total = 0;
  const auto poll = [&] {
    while (total < kEach) {
      ibv_wc wc{};
      if (ibv_poll_cq(pair.b.recv_cq, 1, &wc) > 0) {
        ++seen[wc.wr_id % kEach];
        ++total;
      } else {
        sched_yield();
      }
    }
  };
  waiting_for("receives polled by two threads");
  std::thread first(poll);
  std::thread second(poll);
  for (uint64_t id = 0; id < kEach; ++id) {
    Request(IBV_WR_SEND, id).piece(pair.a.piece(0, 8)).post(pair.a);
    expect_completion("a send", pair.a.sent(), id, IBV_WC_SEND);
  }
  first.join();
  second.join();
  for (uint64_t id = 0; id < kEach; ++id) {
    expect_equal("completions of receive " + std::to_string(id), 1, seen[id].load());
  }
}

// A thread that sleeps in ibv_get_cq_event is woken by a message that another thread sends.
void sleeper() {
  const Channel channel(ibv_create_comp_channel(device().context.get()));
  expect(channel != nullptr, "ibv_create_comp_channel failed");
  Plan plan;
  plan.channel = channel.get();
  Pair pair(Plan{}, plan);
  expect_works("ibv_req_notify_cq", ibv_req_notify_cq(pair.b.recv_cq, 0));
  ibv_cq* woken = nullptr;
  waiting_for("a sleeping thread");
  std::thread thread([&] {
    void* user = nullptr;
    if (ibv_get_cq_event(channel.get(), &woken, &user) == 0) ibv_ack_cq_events(woken, 1);
  });
  pair.b.post_receive(1);
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  thread.join();
  expect(woken == pair.b.recv_cq, "the event is of another CQ");
}

// Destroys in a thread. `acknowledge` runs meanwhile, and must have begun when destroying is over.
void destroys_after(const std::function<int()>& destroy, const std::function<void()>& acknowledge) {
  std::atomic<bool> acknowledged = false;
  std::atomic<bool> early = false;
  int error = 0;
  waiting_for("destroying an object whose event was acknowledged");
  std::thread thread([&] {
    error = destroy();
    early = !acknowledged;
  });
  for (int i = 0; i < 1000; ++i)
    // The more yields, the likelier the case sees a device that is wrong.
    sched_yield();
  acknowledged = true;
  acknowledge();
  thread.join();
  expect_works("destroying", error);
  expect(!early, "the object was destroyed before its event was acknowledged");
}

void cq_waits() {
  const Channel channel(ibv_create_comp_channel(device().context.get()));
  expect(channel != nullptr, "ibv_create_comp_channel failed");
  Plan plan;
  plan.channel = channel.get();
  auto pair = std::make_unique<Pair>(Plan{}, plan);
  expect_works("ibv_req_notify_cq", ibv_req_notify_cq(pair->b.recv_cq, 0));
  exchange(pair->a, pair->b, 1);
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  waiting_for("a completion event");
  expect_works("ibv_get_cq_event", ibv_get_cq_event(channel.get(), &cq, &user));
  pair->b.qp.reset();
  ibv_cq* released = pair->b.own_recv_cq.release();
  destroys_after([=] { return ibv_destroy_cq(released); }, [=] { ibv_ack_cq_events(released, 1); });
}

void srq_waits() {
  need_srq();
  const Pd pd = make_pd();
  Srq srq = make_srq(pd.get(), 8);
  Plan plan;
  plan.pd = pd.get();
  plan.srq = srq.get();
  auto pair = std::make_unique<Pair>(Plan{}, plan);
  pair->b.post_receive(1);
  pair->b.post_receive(2);
  ibv_srq_attr attr{};
  attr.srq_limit = 2;
  expect_works("ibv_modify_srq", ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT));
  Request(IBV_WR_SEND, 1).piece(pair->a.piece(0, 8)).post(pair->a);
  pair->b.received();
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_SRQ_LIMIT_REACHED);
  pair.reset();
  ibv_srq* released = srq.release();
  destroys_after([=] { return ibv_destroy_srq(released); }, [&] { ibv_ack_async_event(&event); });
}

constexpr Case kCases[] = {
    {"threads.two-posters", two_posters}, {"threads.two-pollers", two_pollers},
    {"threads.sleeper", sleeper},         {"threads.cq-waits", cq_waits},
    {"threads.srq-waits", srq_waits},
};

}  // namespace

std::span<const Case> thread_cases() {
  return kCases;
}

}  // namespace semantics
