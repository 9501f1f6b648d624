#include "tests/verbs/tasks/tasks_world.h"

#include <sched.h>

#include <cerrno>
#include <cstring>

namespace semantics {

World::World() : pd(make_pd()), memory_(kWorldBytes) {
  mr_.reset(ibv_reg_mr(pd.get(), memory_.data(), memory_.size(), kAllAccess));
  expect(mr_ != nullptr, "ibv_reg_mr failed");
}

World::~World() {
  for (ibv_qp* const qp : qps_)
    scela_destroy_qp(qp);
  for (ibv_cq* const cq : cqs_)
    scela_destroy_cq(cq);
}

ibv_cq* World::cq(int depth) {
  ibv_cq* const made = scela_create_cq(device().context.get(), depth, nullptr, nullptr, 0);
  expect(made != nullptr, std::string("scela_create_cq failed: ") + std::strerror(errno));
  cqs_.push_back(made);
  return made;
}

ibv_qp* make_rc(ibv_pd* pd, ibv_cq* send, ibv_cq* receive, uint32_t flags, uint32_t depth) {
  ibv_qp_init_attr_ex attributes{};
  attributes.send_cq = send;
  attributes.recv_cq = receive;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {depth, depth, 4, 4, 64};
  attributes.pd = pd;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attributes.create_flags = flags;
  return scela_create_qp(device().context.get(), &attributes);
}

ibv_qp* World::rc(ibv_cq* send, ibv_cq* receive, uint32_t flags, uint32_t depth) {
  ibv_qp* const made = make_rc(pd.get(), send, receive, flags, depth);
  expect(made != nullptr, std::string("scela_create_qp failed: ") + std::strerror(errno));
  qps_.push_back(made);
  return made;
}

ibv_qp* World::mq(ibv_cq* cq, uint32_t tasks) {
  ibv_qp* const made = scela_create_mq(pd.get(), cq, tasks);
  expect(made != nullptr, std::string("scela_create_mq failed: ") + std::strerror(errno));
  qps_.push_back(made);
  return made;
}

Address World::address() const {
  Address own;
  own.psn = 7;
  own.rkey = mr_->rkey;
  own.memory = reinterpret_cast<uint64_t>(memory_.data());
  own.lid = device().port.lid;
  own.gid = device().gid;
  return own;
}

void World::connect_one(ibv_qp* qp, uint32_t number) const {
  Address peer = address();
  peer.qp_num = number;
  for (Step step : {init_step(IBV_QPT_RC), rtr_step(IBV_QPT_RC, peer), rts_step(IBV_QPT_RC)})
    expect_works("scela_modify_qp", scela_modify_qp(qp, &step.attr, step.mask));
}

void World::connect(ibv_qp* a, ibv_qp* b) const {
  connect_one(a, b->qp_num);
  connect_one(b, a->qp_num);
}

ibv_sge World::piece(size_t at, uint32_t length) const {
  return {reinterpret_cast<uint64_t>(memory_.data() + at), length, mr_->lkey};
}

int change_state(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  return scela_modify_qp(qp, &attributes, IBV_QP_STATE);
}

void post_receive(ibv_qp* qp, uint64_t id, ibv_sge piece) {
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &piece;
  wr.num_sge = piece.length == 0 ? 0 : 1;
  expect_works("posting a receive", ibv_post_recv(qp, &wr, &bad));
}

void post_send(ibv_qp* qp, uint64_t id, ibv_sge piece, unsigned flags) {
  Request request(IBV_WR_SEND, id, flags);
  if (piece.length != 0) request.piece(piece);
  expect_works("posting a send", request.try_post(qp));
}

void post_write(const World& world, ibv_qp* qp, uint64_t id, ibv_sge from, size_t to,
                unsigned flags) {
  Request request(IBV_WR_RDMA_WRITE, id, flags);
  expect_works("posting a write", request.piece(from).remote(world.address(), to).try_post(qp));
}

scela_task wait(ibv_cq* cq, uint32_t count, bool last, uint64_t id, unsigned flags) {
  scela_task task{};
  task.wr_id = id;
  task.opcode = SCELA_TASK_WAIT;
  task.send_flags = flags;
  task.u.wait = {cq, count, last ? 1 : 0};
  return task;
}

scela_task enable(ibv_qp* qp, uint32_t count, uint64_t id, unsigned flags,
                  scela_task_opcode opcode) {
  scela_task task{};
  task.wr_id = id;
  task.opcode = opcode;
  task.send_flags = flags;
  task.u.enable = {qp, count};
  return task;
}

scela_task calc(scela_calc_op op, scela_calc_type type, std::span<ibv_sge> pieces, uint64_t id) {
  scela_task task{};
  task.wr_id = id;
  task.opcode = SCELA_TASK_CALC;
  task.send_flags = IBV_SEND_SIGNALED;
  task.u.calc = {op, type, pieces.data(), static_cast<int>(pieces.size())};
  return task;
}

int try_post(ibv_qp* qp, scela_task task) {
  scela_task* bad = nullptr;
  return scela_post_task(qp, &task, &bad);
}

void post(ibv_qp* qp, scela_task task) {
  expect_works("scela_post_task", try_post(qp, task));
}

void expect_next(const std::string& what, ibv_cq* cq, uint64_t id, ibv_wc_status status) {
  const ibv_wc came = await_one(cq, what);
  expect_status(what, status, came);
  expect_equal(what + ", wr_id", id, came.wr_id);
}

void expect_task(const std::string& what, ibv_cq* cq, uint64_t id, scela_task_opcode opcode) {
  const ibv_wc came = await_one(cq, what);
  expect_completion(what, came, id, static_cast<ibv_wc_opcode>(opcode));
}

void await_byte(const std::string& what, const uint8_t* byte, uint8_t value) {
  waiting_for(what);
  const auto* watched = static_cast<const volatile uint8_t*>(byte);
  while (*watched != value)
    sched_yield();
}

}  // namespace semantics
