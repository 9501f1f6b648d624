// Judges extended reliable connections: domains, numbered receive queues, senders and targets.
#include "tests/verbs/semantics/xrc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

Plan sender_plan() {
  Plan plan;
  plan.type = IBV_QPT_XRC_SEND;
  plan.recv_depth = 0;
  return plan;
}

struct File {
  File() : fd(memfd_create("domain", MFD_CLOEXEC)) { expect(fd >= 0, "memfd_create failed"); }
  ~File() { close(fd); }
  int fd;
};

// A sender, a target and two receive queues.
struct Xrc {
  explicit Xrc(const Plan& plan = sender_plan()) {
    need_xrc();
    ibv_context* context = device().context.get();
    domain = open_domain(context, -1, O_CREAT);
    one = std::make_unique<XrcQueue>(context, domain.get());
    two = std::make_unique<XrcQueue>(context, domain.get());
    target = make_target(context, domain.get());
    sender = std::make_unique<End>(plan);
    connect_target(target.get(), sender->address());
    sender->connect(address_of(target.get()));
  }
  Request to(const XrcQueue& queue, ibv_wr_opcode opcode, uint64_t id, unsigned flags = 0) {
    Request made(opcode, id, IBV_SEND_SIGNALED | flags);
    made.srq(queue.number).remote(queue.address(address_of(target.get())));
    return made;
  }
  Xrcd domain;
  std::unique_ptr<XrcQueue> one;
  std::unique_ptr<XrcQueue> two;
  Qp target;
  std::unique_ptr<End> sender;
};

void send() {
  Xrc xrc;
  xrc.sender->fill(0, 5000, 3);
  xrc.two->post(1, 0, 8192);
  xrc.one->post(2);
  xrc.to(*xrc.two, IBV_WR_SEND, 9).piece(xrc.sender->piece(0, 5000)).post(*xrc.sender);
  expect_completion("the send", xrc.sender->sent(), 9, IBV_WC_SEND);
  const ibv_wc wc = xrc.two->received();
  expect_completion("the receive", wc, 1, IBV_WC_RECV);
  expect_equal("byte_len", 5000U, wc.byte_len);
  expect_equal("qp_num", xrc.target->qp_num, wc.qp_num);
  expect(std::memcmp(xrc.two->bytes(), xrc.sender->bytes(), 5000) == 0, "the data differ");
  expect_empty("the other queue", xrc.one->cq.get());
}

void by_number() {
  Xrc xrc;
  expect(xrc.one->number != xrc.two->number, "two queues have one number");
  for (uint64_t id = 1; id <= 3; ++id) {
    xrc.one->post(id);
    xrc.two->post(10 + id);
  }
  for (uint64_t id = 1; id <= 3; ++id) {
    const uint32_t tag = static_cast<uint32_t>(id);
    xrc.to(*xrc.one, IBV_WR_SEND_WITH_IMM, id).immediate(tag).post(*xrc.sender);
    xrc.to(*xrc.two, IBV_WR_SEND_WITH_IMM, id).immediate(10 + tag).post(*xrc.sender);
  }
  for (uint64_t id = 1; id <= 3; ++id) {
    ibv_wc wc = xrc.one->received();
    expect_completion("a receive of the first queue", wc, id, IBV_WC_RECV);
    expect_equal("immediate data", id, uint64_t{be32toh(wc.imm_data)});
    wc = xrc.two->received();
    expect_completion("a receive of the second queue", wc, 10 + id, IBV_WC_RECV);
    expect_equal("immediate data", 10 + id, uint64_t{be32toh(wc.imm_data)});
  }
}

void inlined() {
  Xrc xrc;
  xrc.one->post(1);
  xrc.sender->fill(0, 32, 3);
  xrc.to(*xrc.one, IBV_WR_SEND, 1, IBV_SEND_INLINE)
      .piece(xrc.sender->piece(0, 32))
      .post(*xrc.sender);
  expect_equal("byte_len", 32U, xrc.one->received().byte_len);
  expect(std::memcmp(xrc.one->bytes(), xrc.sender->bytes(), 32) == 0, "the data differ");
}

// A target has no protection domain of its own. The queue that a request names lends it one.
void remote_operations() {
  Xrc xrc;
  xrc.sender->fill(0, 3000, 3);
  xrc.to(*xrc.one, IBV_WR_RDMA_WRITE, 1).piece(xrc.sender->piece(0, 3000)).post(*xrc.sender);
  expect_completion("the write", xrc.sender->sent(), 1, IBV_WC_RDMA_WRITE);
  expect(std::memcmp(xrc.one->bytes(), xrc.sender->bytes(), 3000) == 0, "written data differ");
  xrc.to(*xrc.one, IBV_WR_RDMA_READ, 2).piece(xrc.sender->piece(4096, 3000)).post(*xrc.sender);
  expect_completion("the read", xrc.sender->sent(), 2, IBV_WC_RDMA_READ);
  xrc.sender->expect_bytes("read", 4096, 3000, 3);
  Request add(IBV_WR_ATOMIC_FETCH_AND_ADD, 3);
  add.srq(xrc.two->number).piece(xrc.sender->piece(8192, 8));
  add.atomic(xrc.two->address(address_of(xrc.target.get())), 0, 5).post(*xrc.sender);
  expect_completion("the addition", xrc.sender->sent(), 3, IBV_WC_FETCH_ADD);
  uint64_t sum = 0;
  std::memcpy(&sum, xrc.two->bytes(), 8);
  expect_equal("the sum", uint64_t{5}, sum);
}

void write_immediate() {
  Xrc xrc;
  xrc.two->post(1, 4096);
  xrc.sender->fill(0, 64, 3);
  xrc.to(*xrc.two, IBV_WR_RDMA_WRITE_WITH_IMM, 1)
      .immediate(77)
      .piece(xrc.sender->piece(0, 64))
      .post(*xrc.sender);
  const ibv_wc wc = xrc.two->received();
  expect_completion("the receive", wc, 1, IBV_WC_RECV_RDMA_WITH_IMM);
  expect_equal("immediate data", 77U, be32toh(wc.imm_data));
}

void not_ready_waits() {
  Xrc xrc;
  xrc.to(*xrc.one, IBV_WR_SEND, 1).piece(xrc.sender->piece(0, 8)).post(*xrc.sender);
  // A receive in another queue does not help.
  xrc.two->post(5);
  xrc.one->post(6);
  expect_completion("the receive", xrc.one->received(), 6, IBV_WC_RECV);
  expect_completion("the send", xrc.sender->sent(), 1, IBV_WC_SEND);
  expect_empty("the other queue", xrc.two->cq.get());
}

void not_ready_given_up() {
  Plan plan = sender_plan();
  plan.rnr_retries = 0;
  Xrc xrc(plan);
  xrc.to(*xrc.one, IBV_WR_SEND, 1).piece(xrc.sender->piece(0, 8)).post(*xrc.sender);
  expect_status("a send to an empty queue", IBV_WC_RNR_RETRY_EXC_ERR, xrc.sender->sent());
}

void refused(Xrc& xrc, uint32_t number) {
  Request(IBV_WR_SEND, 1).srq(number).piece(xrc.sender->piece(0, 8)).post(*xrc.sender);
  expect_status("the send", IBV_WC_REM_INV_REQ_ERR, xrc.sender->sent());
  await_state("ERR of the sender", xrc.sender->qp.get(), IBV_QPS_ERR);
}

void unknown_number() {
  Xrc xrc;
  refused(xrc, 0xfffffe);
}

void number_gone() {
  Xrc xrc;
  const uint32_t number = xrc.two->number;
  xrc.two.reset();
  refused(xrc, number);
}

// A receive queue of another domain counts as unknown.
void other_domain() {
  Xrc xrc;
  const Xrcd other = open_domain(device().context.get(), -1, O_CREAT);
  XrcQueue stranger(device().context.get(), other.get());
  stranger.post(1);
  refused(xrc, stranger.number);
  expect_empty("the other domain's queue", stranger.cq.get());
}

// A basic SRQ cannot be named.
void basic_queue() {
  Xrc xrc;
  const Pd pd = make_pd();
  const Srq basic = make_srq(pd.get(), 4);
  uint32_t number = 0;
  if (ibv_get_srq_num(basic.get(), &number) != 0) return;  // it has no number
  if (number == xrc.one->number || number == xrc.two->number) return;
  refused(xrc, number);
}

void too_small() {
  Xrc xrc;
  xrc.one->post(1, 0, 16);
  xrc.to(*xrc.one, IBV_WR_SEND, 1).piece(xrc.sender->piece(0, 32)).post(*xrc.sender);
  expect_status("the receive", IBV_WC_LOC_LEN_ERR, xrc.one->received());
  expect_status("the send", IBV_WC_REM_INV_REQ_ERR, xrc.sender->sent());
}

// A target takes the steps of a receiver, with all attributes that they need.
void target_states() {
  Xrc xrc;
  const Qp target = make_target(device().context.get(), xrc.domain.get());
  Plan plan;
  plan.type = IBV_QPT_XRC_RECV;
  const Address peer = xrc.sender->address();
  for (const Step& full :
       {init_step(plan.type), rtr_step(plan.type, peer, plan), rts_step(plan.type, plan)}) {
    for (int bit = 1; bit < 25; ++bit) {
      if ((full.mask & (1 << bit)) == 0) continue;
      Step less = full;
      less.mask &= ~(1 << bit);
      expect_error("to state " + std::to_string(full.attr.qp_state) + " without attribute bit " +
                       std::to_string(bit),
                   EINVAL, apply(target.get(), less));
    }
    expect_works("with all attributes", apply(target.get(), full));
    expect_equal("state", static_cast<int>(full.attr.qp_state),
                 static_cast<int>(state_of(target.get())));
  }
}

// The extended interface names the queue by a call.
void extended() {
  Xrc xrc;
  ibv_qp_init_attr_ex init{};
  init.send_cq = xrc.sender->send_cq.get();
  init.cap = {8, 0, 2, 0, 32};
  init.qp_type = IBV_QPT_XRC_SEND;
  init.pd = xrc.sender->pd;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  const Qp qp(ibv_create_qp_ex(device().context.get(), &init));
  if (qp == nullptr) skip("device lacks the extended post interface");
  const Qp target = make_target(device().context.get(), xrc.domain.get());
  connect_target(target.get(), address_of(qp.get()));
  const Plan plan = sender_plan();
  expect_works("to INIT", apply(qp.get(), init_step(plan.type)));
  expect_works("to RTR", apply(qp.get(), rtr_step(plan.type, address_of(target.get()), plan)));
  expect_works("to RTS", apply(qp.get(), rts_step(plan.type, plan)));
  xrc.two->post(1);
  ibv_qp_ex* ex = ibv_qp_to_qp_ex(qp.get());
  const ibv_sge sge = xrc.sender->piece(0, 8);
  ibv_wr_start(ex);
  ex->wr_id = 5;
  ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_imm(ex, htobe32(3));
  ibv_wr_set_xrc_srqn(ex, xrc.two->number);
  ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
  expect_works("ibv_wr_complete", ibv_wr_complete(ex));
  expect_completion("the send", xrc.sender->sent(), 5, IBV_WC_SEND);
  const ibv_wc wc = xrc.two->received();
  expect_completion("the receive", wc, 1, IBV_WC_RECV);
  expect_equal("immediate data", 3U, be32toh(wc.imm_data));
}

void two_targets() {
  Xrc xrc;
  End other(sender_plan());
  const Qp target = make_target(device().context.get(), xrc.domain.get());
  connect_target(target.get(), other.address());
  other.connect(address_of(target.get()));
  xrc.one->post(1);
  xrc.one->post(2);
  xrc.to(*xrc.one, IBV_WR_SEND, 1).piece(xrc.sender->piece(0, 8)).post(*xrc.sender);
  expect_equal("qp_num", xrc.target->qp_num, xrc.one->received().qp_num);
  Request(IBV_WR_SEND, 1).srq(xrc.one->number).piece(other.piece(0, 8)).post(other);
  expect_equal("qp_num", target->qp_num, xrc.one->received().qp_num);
}

void limit_event() {
  Xrc xrc;
  for (uint64_t id = 1; id <= 4; ++id)
    xrc.one->post(id);
  ibv_srq_attr attr{};
  attr.srq_limit = 3;
  expect_works("ibv_modify_srq", ibv_modify_srq(xrc.one->srq.get(), &attr, IBV_SRQ_LIMIT));
  for (uint64_t id = 1; id <= 2; ++id) {
    xrc.to(*xrc.one, IBV_WR_SEND, id).piece(xrc.sender->piece(0, 8)).post(*xrc.sender);
    xrc.one->received();
  }
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_SRQ_LIMIT_REACHED);
  const bool own = event.element.srq == xrc.one->srq.get();
  ibv_ack_async_event(&event);
  expect(own, "the event is of another SRQ");
}

void wrong_posts() {
  Xrc xrc;
  expect_any_error(
      "a send on a target",
      Request(IBV_WR_SEND, 1).piece(xrc.sender->piece(0, 8)).try_post(xrc.target.get()));
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  expect_any_error("a receive on a target", ibv_post_recv(xrc.target.get(), &wr, &bad));
  expect_any_error("a receive on a sender", ibv_post_recv(xrc.sender->qp.get(), &wr, &bad));
}

// One file is one domain, for every context that opens it.
void domain_of_file() {
  need_xrc();
  const File file;
  ibv_context* context = device().context.get();
  expect_error("a domain that nobody made", EAGAIN, open_domain_error(context, file.fd, 0));
  const Xrcd made = open_domain(context, file.fd, O_CREAT);
  expect_error("making it alone", EINVAL, open_domain_error(context, file.fd, O_CREAT | O_EXCL));
  const Device other = open_device();
  const Xrcd again = open_domain(other.context.get(), file.fd, 0);
  XrcQueue queue(other.context.get(), again.get());
  const Qp target = make_target(context, made.get());
  End sender(sender_plan());
  connect_target(target.get(), sender.address());
  sender.connect(address_of(target.get()));
  queue.post(1);
  Request(IBV_WR_SEND, 1).srq(queue.number).piece(sender.piece(0, 8)).post(sender);
  expect_completion("the receive of the other context", queue.received(), 1, IBV_WC_RECV);
}

void bad_descriptor() {
  need_xrc();
  expect_error("a closed descriptor", EBADF,
               open_domain_error(device().context.get(), 1000, O_CREAT));
}

void domain_in_use() {
  need_xrc();
  ibv_context* context = device().context.get();
  Xrcd domain = open_domain(context, -1, O_CREAT);
  {
    const XrcQueue queue(context, domain.get());
    expect_error("a domain with a queue", EBUSY, ibv_close_xrcd(domain.get()));
  }
  {
    const Qp target = make_target(context, domain.get());
    expect_error("a domain with a target", EBUSY, ibv_close_xrcd(domain.get()));
  }
  expect_works("a domain without", ibv_close_xrcd(domain.release()));
}

// A second holder keeps the target when its maker destroys it.
void opened_target() {
  need_xrc();
  const File file;
  ibv_context* context = device().context.get();
  const Xrcd made = open_domain(context, file.fd, O_CREAT);
  const Device other = open_device();
  const Xrcd again = open_domain(other.context.get(), file.fd, O_CREAT);
  Qp target = make_target(context, made.get());
  const Address address = address_of(target.get());
  End sender(sender_plan());
  connect_target(target.get(), sender.address());
  sender.connect(address);
  ibv_qp_open_attr attr{};
  attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attr.qp_num = address.qp_num;
  attr.xrcd = again.get();
  attr.qp_type = IBV_QPT_XRC_RECV;
  errno = 0;
  Qp held(ibv_open_qp(other.context.get(), &attr));
  if (held == nullptr && (errno == ENOSYS || errno == EOPNOTSUPP)) skip("device lacks ibv_open_qp");
  expect(held != nullptr, std::string("ibv_open_qp failed: ") + std::strerror(errno));
  expect_equal("qp_num", address.qp_num, held->qp_num);
  target.reset();
  XrcQueue queue(other.context.get(), again.get());
  queue.post(1);
  Request(IBV_WR_SEND, 1).srq(queue.number).piece(sender.piece(0, 8)).post(sender);
  expect_completion("a receive by the second holder", queue.received(), 1, IBV_WC_RECV);
  expect_completion("its send", sender.sent(), 1, IBV_WC_SEND);
  held.reset();
  Request(IBV_WR_SEND, 2).srq(queue.number).piece(sender.piece(0, 8)).post(sender);
  expect_status("a send when nobody holds the target", IBV_WC_RETRY_EXC_ERR, sender.sent());
}

void open_unknown_target() {
  Xrc xrc;
  ibv_qp_open_attr attr{};
  attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attr.qp_num = 0xfffffe;
  attr.xrcd = xrc.domain.get();
  attr.qp_type = IBV_QPT_XRC_RECV;
  expect_refused("a target that is not there",
                 Qp(ibv_open_qp(device().context.get(), &attr)).get());
}

constexpr Case kCases[] = {
    {"xrc.send", send},
    {"xrc.by-number", by_number},
    {"xrc.inline", inlined},
    {"xrc.remote-operations", remote_operations},
    {"xrc.write-immediate", write_immediate},
    {"xrc.not-ready-waits", not_ready_waits},
    {"xrc.not-ready-given-up", not_ready_given_up},
    {"xrc.unknown-number", unknown_number},
    {"xrc.number-gone", number_gone},
    {"xrc.other-domain", other_domain},
    {"xrc.basic-queue", basic_queue},
    {"xrc.too-small", too_small},
    {"xrc.two-targets", two_targets},
    {"xrc.target-states", target_states},
    {"xrc.extended", extended},
    {"xrc.limit-event", limit_event},
    {"xrc.wrong-posts", wrong_posts},
    {"xrc.domain-of-file", domain_of_file},
    {"xrc.bad-descriptor", bad_descriptor},
    {"xrc.domain-in-use", domain_in_use},
    {"xrc.opened-target", opened_target},
    {"xrc.open-unknown-target", open_unknown_target},
};

}  // namespace

std::span<const Case> xrc_cases() {
  return kCases;
}

}  // namespace semantics
