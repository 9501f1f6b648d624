// Judges places in queues: when a queue is full, and what makes room again.
#include <cerrno>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

// A shallow queue pair. Its peer has a receive for every message.
struct Shallow {
  Shallow() : pair(small(), deep()) {
    places = pair.a.plan.send_depth;
    if (places > 2048) skip("device has no shallow send queues");
    for (uint64_t id = 0; id < 4 * places && id < pair.b.plan.recv_depth; ++id) {
      pair.b.post_receive(id, 0, 64);
    }
  }
  static Plan small() {
    Plan plan;
    plan.send_depth = 4;
    return plan;
  }
  static Plan deep() {
    Plan plan;
    plan.recv_depth = 1024;
    plan.cq_depth = 2048;
    return plan;
  }
  int send(uint64_t id, unsigned flags) {
    return Request(IBV_WR_SEND, id, flags).piece(pair.a.piece(0, 8)).try_post(pair.a.qp.get());
  }
  // Posts one send for each place of the queue. The last send has `last_flags`.
  void fill(unsigned last_flags) {
    for (uint64_t id = 1; id <= places; ++id) {
      expect_works("send " + std::to_string(id) + " of " + std::to_string(places),
                   send(id, id == places ? last_flags : 0));
    }
  }
  void arrive() { await(pair.b.recv_cq, places, "receives of all sends"); }

  Pair pair;
  uint64_t places = 0;
};

void queue_full() {
  // No receive is posted, so no send can be done.
  Plan plan;
  plan.send_depth = 4;
  plan.recv_depth = 4;
  Pair pair(plan);
  for (uint32_t i = 0; i < pair.a.plan.send_depth; ++i) {
    Request(IBV_WR_SEND, i + 1).piece(pair.a.piece(0, 8)).post(pair.a);
  }
  ibv_sge sge = pair.a.piece(0, 8);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  expect_error("one send too many", ENOMEM, ibv_post_send(pair.a.qp.get(), &wr, &bad));
  expect(bad == &wr, "bad_wr does not point at the refused send");
}

void receive_queue_full() {
  Plan plan;
  plan.recv_depth = 4;
  Pair pair(plan);
  for (uint32_t i = 0; i < pair.b.plan.recv_depth; ++i)
    pair.b.post_receive(i + 1);
  ibv_recv_wr receive{};
  ibv_recv_wr* bad = nullptr;
  expect_error("one receive too many", ENOMEM, ibv_post_recv(pair.b.qp.get(), &receive, &bad));
  expect(bad == &receive, "bad_wr does not point at the refused receive");
}

void signalled_frees() {
  Shallow shallow;
  for (int round = 0; round < 3; ++round) {
    shallow.fill(IBV_SEND_SIGNALED);
    expect_completion("the last send", shallow.pair.a.sent(), shallow.places, IBV_WC_SEND);
    expect_empty("after the only signalled send", shallow.pair.a.send_cq.get());
  }
}

// A completion frees places when it is polled, not when the device has done the work.
void unpolled_holds() {
  Shallow shallow;
  shallow.fill(IBV_SEND_SIGNALED);
  shallow.arrive();
  expect_error("a send before the completion was polled", ENOMEM, shallow.send(99, 0));
  shallow.pair.a.sent();
  expect_works("a send after it", shallow.send(99, IBV_SEND_SIGNALED));
  expect_completion("that send", shallow.pair.a.sent(), 99, IBV_WC_SEND);
}

void unsignalled_holds() {
  Shallow shallow;
  shallow.fill(0);
  shallow.arrive();
  expect_error("a send when no place was freed", ENOMEM, shallow.send(99, 0));
  expect_empty("unsignalled sends", shallow.pair.a.send_cq.get());
}

// A completion in the middle frees the places up to its own.
void middle_frees() {
  Shallow shallow;
  for (uint64_t id = 1; id <= shallow.places; ++id) {
    expect_works("a send", shallow.send(id, id == 2 ? IBV_SEND_SIGNALED : 0));
  }
  shallow.arrive();
  expect_equal("wr_id", uint64_t{2}, shallow.pair.a.sent().wr_id);
  expect_works("the first freed place", shallow.send(11, 0));
  expect_works("the second freed place", shallow.send(12, 0));
  expect_error("a third", ENOMEM, shallow.send(13, 0));
}

void all_signalled() {
  Plan plan;
  plan.all_signalled = true;
  Pair pair(plan);
  pair.b.post_receive(1);
  Request(IBV_WR_SEND, 1, 0).piece(pair.a.piece(0, 8)).post(pair.a);
  expect_completion("a send without the flag", pair.a.sent(), 1, IBV_WC_SEND);
}

void unsignalled_is_silent() {
  Pair pair;
  for (uint64_t id = 1; id <= 3; ++id)
    pair.b.post_receive(id);
  for (uint64_t id = 1; id <= 3; ++id) {
    const unsigned flags = id == 3 ? IBV_SEND_SIGNALED : 0;
    Request(IBV_WR_SEND, id, flags).piece(pair.a.piece(0, 8)).post(pair.a);
  }
  expect_completion("the signalled send", pair.a.sent(), 3, IBV_WC_SEND);
  expect_empty("the unsignalled sends", pair.a.send_cq.get());
  await(pair.b.recv_cq, 3, "all receives");
}

void completions_in_order() {
  Pair pair;
  const Address peer = pair.b.address();
  for (uint64_t id = 1; id <= 4; ++id)
    pair.b.post_receive(id);
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t id = 4 * round;
    Request(IBV_WR_RDMA_READ, id + 1).piece(pair.a.piece(0, 8192)).remote(peer).post(pair.a);
    Request(IBV_WR_SEND, id + 2).piece(pair.a.piece(0, 8)).post(pair.a);
    Request(IBV_WR_RDMA_WRITE, id + 3).piece(pair.a.piece(0, 8)).remote(peer, 4096).post(pair.a);
    Request(IBV_WR_ATOMIC_FETCH_AND_ADD, id + 4)
        .piece(pair.a.piece(16384, 8))
        .atomic(peer, 16384, 1)
        .post(pair.a);
  }
  uint64_t next = 1;
  for (const ibv_wc& wc : await(pair.a.send_cq.get(), 16, "sixteen completions")) {
    expect_status("completion " + std::to_string(next), IBV_WC_SUCCESS, wc);
    expect_equal("wr_id", next++, wc.wr_id);
  }
  next = 1;
  for (const ibv_wc& wc : await(pair.b.recv_cq, 4, "four receives")) {
    expect_equal("wr_id of a receive", next++, wc.wr_id);
  }
}

void poll_many() {
  Pair pair;
  for (uint64_t id = 1; id <= 6; ++id)
    pair.b.post_receive(id);
  for (uint64_t id = 1; id <= 6; ++id) {
    const unsigned flags = id == 6 ? IBV_SEND_SIGNALED : 0;
    Request(IBV_WR_SEND, id, flags).piece(pair.a.piece(0, 8)).post(pair.a);
  }
  pair.a.sent();
  ibv_wc wcs[8];
  expect_equal("a poll for none", 0, ibv_poll_cq(pair.b.recv_cq, 0, wcs));
  uint64_t next = 1;
  while (next <= 6) {
    waiting_for("six receives");
    const int polled = ibv_poll_cq(pair.b.recv_cq, 4, wcs);
    expect(polled >= 0 && polled <= 4, "ibv_poll_cq gave more than was asked for");
    for (int i = 0; i < polled; ++i)
      expect_equal("wr_id", next++, wcs[i].wr_id);
  }
}

constexpr Case kCases[] = {
    {"accounting.queue-full", queue_full},
    {"accounting.receive-queue-full", receive_queue_full},
    {"accounting.signalled-frees", signalled_frees},
    {"accounting.unpolled-holds", unpolled_holds},
    {"accounting.unsignalled-holds", unsignalled_holds},
    {"accounting.middle-frees", middle_frees},
    {"accounting.all-signalled", all_signalled},
    {"accounting.unsignalled-is-silent", unsignalled_is_silent},
    {"accounting.completions-in-order", completions_in_order},
    {"accounting.poll-many", poll_many},
};

}  // namespace

std::span<const Case> accounting_cases() {
  return kCases;
}

}  // namespace semantics
