// Judges datagrams: addresses, the 40 bytes before each message, and messages that are dropped in
// silence.
#include <cerrno>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

constexpr uint32_t kGrh = 40;

Plan datagram_plan() {
  Plan plan;
  plan.type = IBV_QPT_UD;
  return plan;
}

struct Ends {
  Ends() : pair(datagram_plan()) {
    ibv_ah_attr attr = route_to(pair.b.address());
    ah.reset(ibv_create_ah(pair.a.pd, &attr));
    expect(ah != nullptr, "ibv_create_ah failed");
  }
  Request request(uint64_t id, ibv_wr_opcode opcode = IBV_WR_SEND, uint32_t qkey = kQkey) {
    Request made(opcode, id);
    made.datagram(ah.get(), pair.b.address(), qkey);
    return made;
  }
  Pair pair;
  Ah ah;
};

void message(uint32_t length) {
  Ends ends;
  ends.pair.a.fill(0, length, 4);
  ends.pair.b.post_receive(1, 1024, length + kGrh);
  ends.request(2).piece(ends.pair.a.piece(0, length)).post(ends.pair.a);
  expect_completion("the send", ends.pair.a.sent(), 2, IBV_WC_SEND);
  const ibv_wc wc = ends.pair.b.received();
  expect_completion("the receive", wc, 1, IBV_WC_RECV);
  expect_equal("byte_len, with the 40 bytes in front", length + kGrh, wc.byte_len);
  expect_equal("src_qp", ends.pair.a.qp->qp_num, wc.src_qp);
  expect_equal("qp_num", ends.pair.b.qp->qp_num, wc.qp_num);
  expect_equal("IBV_WC_GRH", device().global, (wc.wc_flags & IBV_WC_GRH) != 0);
  ends.pair.b.expect_bytes("data behind the 40 bytes", 1024 + kGrh, length, 4);
}

void send() {
  message(100);
}
void empty() {
  message(0);
}
// Sends the longest message that fits a packet.
void longest() {
  message(128U << device().port.active_mtu);
}

void immediate() {
  Ends ends;
  ends.pair.b.post_receive(1);
  ends.request(2, IBV_WR_SEND_WITH_IMM)
      .immediate(0x01020304)
      .piece(ends.pair.a.piece(0, 8))
      .post(ends.pair.a);
  const ibv_wc wc = ends.pair.b.received();
  expect((wc.wc_flags & IBV_WC_WITH_IMM) != 0, "IBV_WC_WITH_IMM is not set");
  expect_equal("immediate data", 0x01020304U, be32toh(wc.imm_data));
}

void inlined() {
  Ends ends;
  ends.pair.a.fill(0, 48, 4);
  ends.pair.b.post_receive(1);
  Request request = ends.request(2);
  request.wr.send_flags |= IBV_SEND_INLINE;
  request.piece(ends.pair.a.piece(0, 48)).post(ends.pair.a);
  ends.pair.a.fill(0, 48, 99);
  ends.pair.b.received();
  ends.pair.b.expect_bytes("data", kGrh, 48, 4);
}

void arrives_next(Ends& ends) {
  ends.pair.a.fill(0, 8, 50);
  ends.request(9).piece(ends.pair.a.piece(0, 8)).post(ends.pair.a);
  expect_completion("the next send", ends.pair.a.sent(), 9, IBV_WC_SEND);
  const ibv_wc wc = ends.pair.b.received();
  expect_completion("the next receive", wc, 8, IBV_WC_RECV);
  ends.pair.b.expect_bytes("the next data", 2048 + kGrh, 8, 50);
}

void wrong_qkey() {
  Ends ends;
  ends.pair.b.post_receive(8, 2048);
  ends.request(1, IBV_WR_SEND, kQkey + 1).piece(ends.pair.a.piece(0, 8)).post(ends.pair.a);
  expect_completion("a send with a wrong Q_Key", ends.pair.a.sent(), 1, IBV_WC_SEND);
  arrives_next(ends);
}

// The specification (C10-93.1.1) has a longer message dropped by its sender, without an error. Some
// devices refuse it when it is posted. No receive gets it.
void too_long() {
  Ends ends;
  const uint32_t mtu = 128U << device().port.active_mtu;
  ends.pair.b.post_receive(8, 2048, mtu + 1 + kGrh);
  Request request = ends.request(2);
  request.piece(ends.pair.a.piece(0, mtu + 1));
  const int error = request.try_post(ends.pair.a.qp.get());
  if (error == 0) {
    expect_completion("more than a packet", ends.pair.a.sent(), 2, IBV_WC_SEND);
  } else {
    expect_error("more than a packet", EINVAL, error);
  }
  arrives_next(ends);
}

void no_receive() {
  Ends ends;
  ends.request(1).piece(ends.pair.a.piece(0, 8)).post(ends.pair.a);
  expect_completion("a send to nobody", ends.pair.a.sent(), 1, IBV_WC_SEND);
  ends.pair.b.post_receive(8, 2048);
  arrives_next(ends);
}

void no_such_queue_pair() {
  Ends ends;
  Address nobody = ends.pair.b.address();
  nobody.qp_num ^= 0x800000;
  Request request(IBV_WR_SEND, 1);
  request.datagram(ends.ah.get(), nobody).piece(ends.pair.a.piece(0, 8)).post(ends.pair.a);
  expect_completion("a send to nobody", ends.pair.a.sent(), 1, IBV_WC_SEND);
  ends.pair.b.post_receive(8, 2048);
  arrives_next(ends);
}

// If the highest bit of a Q_Key is set, the sender's own Q_Key is used instead.
void own_qkey() {
  Ends ends;
  ends.pair.b.post_receive(1);
  ends.request(2, IBV_WR_SEND, 0x80000000U).piece(ends.pair.a.piece(0, 8)).post(ends.pair.a);
  expect_completion("the receive", ends.pair.b.received(), 1, IBV_WC_RECV);
}

void many_peers() {
  Ends ends;
  End third(datagram_plan());
  third.connect({});
  ibv_ah_attr attr = route_to(third.address());
  const Ah ah(ibv_create_ah(third.pd, &attr));
  expect(ah != nullptr, "ibv_create_ah failed");
  ends.pair.b.post_receive(1);
  ends.pair.b.post_receive(2);
  ends.request(1).piece(ends.pair.a.piece(0, 8)).post(ends.pair.a);
  expect_equal("src_qp", ends.pair.a.qp->qp_num, ends.pair.b.received().src_qp);
  Request(IBV_WR_SEND, 1)
      .datagram(ah.get(), ends.pair.b.address())
      .piece(third.piece(0, 8))
      .post(third);
  expect_equal("src_qp", third.qp->qp_num, ends.pair.b.received().src_qp);
}

// The answer goes back to the source that the receive's completion names.
void answer() {
  Ends ends;
  ends.pair.a.post_receive(7);
  ends.pair.b.post_receive(1);
  ends.request(2).piece(ends.pair.a.piece(0, 8)).post(ends.pair.a);
  ibv_wc wc = ends.pair.b.received();
  const Ah back(ibv_create_ah_from_wc(ends.pair.b.pd, &wc,
                                      reinterpret_cast<ibv_grh*>(ends.pair.b.bytes()), kPort));
  expect(back != nullptr, "ibv_create_ah_from_wc failed");
  Address asker;
  asker.qp_num = wc.src_qp;
  Request(IBV_WR_SEND, 3)
      .datagram(back.get(), asker)
      .piece(ends.pair.b.piece(4096, 8))
      .post(ends.pair.b);
  expect_completion("the answer", ends.pair.a.received(), 7, IBV_WC_RECV);
}

void multicast() {
  Ends ends;
  if (device().attr.max_mcast_grp == 0) skip("device lacks multicast");
  // The group is 224.0.1.9 as a GID of an Ethernet fabric. Other fabrics take the same bits as a
  // plain multicast GID.
  ibv_gid group{};
  group.raw[10] = group.raw[11] = 0xff;
  group.raw[12] = 224;
  group.raw[14] = 1;
  group.raw[15] = 9;
  if (device().port.link_layer != IBV_LINK_LAYER_ETHERNET) group.raw[0] = 0xff;
  const int error = ibv_attach_mcast(ends.pair.b.qp.get(), &group, 0);
  expect_works("ibv_attach_mcast", error);
  expect_works("ibv_detach_mcast", ibv_detach_mcast(ends.pair.b.qp.get(), &group, 0));
  expect_any_error("a second ibv_detach_mcast", ibv_detach_mcast(ends.pair.b.qp.get(), &group, 0));
}

constexpr Case kCases[] = {
    {"datagrams.send", send},
    {"datagrams.empty", empty},
    {"datagrams.longest", longest},
    {"datagrams.too-long", too_long},
    {"datagrams.immediate", immediate},
    {"datagrams.inline", inlined},
    {"datagrams.wrong-qkey", wrong_qkey},
    {"datagrams.own-qkey", own_qkey},
    {"datagrams.no-receive", no_receive},
    {"datagrams.no-such-queue-pair", no_such_queue_pair},
    {"datagrams.many-peers", many_peers},
    {"datagrams.answer", answer},
    {"datagrams.multicast", multicast},
};

}  // namespace

std::span<const Case> datagram_cases() {
  return kCases;
}

}  // namespace semantics
