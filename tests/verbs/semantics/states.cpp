// Judges the state machine of queue pairs: which steps are allowed, and which attributes each
// needs.
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

const char* name_of(ibv_qp_state state) {
  static constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return kNames[state];
}

void expect_state(ibv_qp* qp, ibv_qp_state state) {
  const ibv_qp_state now = state_of(qp);
  if (now != state) fail(std::string("expected ") + name_of(state) + ", is in " + name_of(now));
}

Step step_to(ibv_qp_state state, const End& end) {
  if (state == IBV_QPS_INIT) return init_step(end.plan.type);
  if (state == IBV_QPS_RTR) return rtr_step(end.plan.type, end.address(), end.plan);
  if (state == IBV_QPS_RTS) return rts_step(end.plan.type, end.plan);
  Step step;
  step.attr.qp_state = state;
  step.mask = IBV_QP_STATE;
  return step;
}

// Goes from RESET to `state` by the ordinary way.
void bring_to(ibv_qp_state state, End& end) {
  for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (state == IBV_QPS_RESET) return;
    expect_works(std::string("to ") + name_of(next), apply(end.qp.get(), step_to(next, end)));
    expect_state(end.qp.get(), next);
    if (next == state) return;
    if (state == IBV_QPS_ERR) break;
  }
  expect_works("to ERR", go_to(end.qp.get(), IBV_QPS_ERR));
}

void walk(ibv_qp_type type) {
  Plan plan;
  plan.type = type;
  End end(plan);
  expect_state(end.qp.get(), IBV_QPS_RESET);
  for (int round = 0; round < 2; ++round) {
    bring_to(IBV_QPS_RTS, end);
    expect_works("to ERR", go_to(end.qp.get(), IBV_QPS_ERR));
    expect_state(end.qp.get(), IBV_QPS_ERR);
    expect_works("to RESET", go_to(end.qp.get(), IBV_QPS_RESET));
    expect_state(end.qp.get(), IBV_QPS_RESET);
  }
}

void walk_rc() {
  walk(IBV_QPT_RC);
}
void walk_uc() {
  walk(IBV_QPT_UC);
}
void walk_ud() {
  walk(IBV_QPT_UD);
}
void walk_xrc_sender() {
  need_xrc();
  walk(IBV_QPT_XRC_SEND);
}

void reset_and_error() {
  for (const ibv_qp_state start :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR}) {
    for (const ibv_qp_state goal : {IBV_QPS_RESET, IBV_QPS_ERR}) {
      if (start == IBV_QPS_RESET && goal == IBV_QPS_ERR) continue;  // it is one of the wrong steps
      End end;
      bring_to(start, end);
      expect_works(std::string(name_of(start)) + " to " + name_of(goal), go_to(end.qp.get(), goal));
      expect_state(end.qp.get(), goal);
    }
  }
}

void wrong_steps() {
  const std::vector<std::pair<ibv_qp_state, ibv_qp_state>> wrong = {
      {IBV_QPS_RESET, IBV_QPS_RTR}, {IBV_QPS_RESET, IBV_QPS_RTS}, {IBV_QPS_INIT, IBV_QPS_RTS},
      {IBV_QPS_RTR, IBV_QPS_INIT},  {IBV_QPS_RTR, IBV_QPS_RTR},   {IBV_QPS_RTS, IBV_QPS_INIT},
      {IBV_QPS_RTS, IBV_QPS_RTR},   {IBV_QPS_ERR, IBV_QPS_INIT},  {IBV_QPS_ERR, IBV_QPS_RTR},
      {IBV_QPS_ERR, IBV_QPS_RTS},   {IBV_QPS_RESET, IBV_QPS_ERR},
  };
  for (const auto& [start, goal] : wrong) {
    End end;
    bring_to(start, end);
    expect_error(std::string(name_of(start)) + " to " + name_of(goal), EINVAL,
                 apply(end.qp.get(), step_to(goal, end)));
    expect_state(end.qp.get(), start);
  }
}

// Each attribute that a step needs is left out once.
void missing(ibv_qp_type type) {
  for (const ibv_qp_state goal : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    Plan plan;
    plan.type = type;
    End end(plan);
    for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR}) {
      if (next >= goal) break;
      expect_works("the way there", apply(end.qp.get(), step_to(next, end)));
    }
    const ibv_qp_state before = state_of(end.qp.get());
    const Step full = step_to(goal, end);
    for (int bit = 0; bit < 25; ++bit) {
      const int flag = 1 << bit;
      if ((full.mask & flag) == 0 || flag == IBV_QP_STATE) continue;
      Step less = full;
      less.mask &= ~flag;
      expect_error(
          std::string("to ") + name_of(goal) + " without attribute bit " + std::to_string(bit),
          EINVAL, apply(end.qp.get(), less));
      expect_state(end.qp.get(), before);
    }
    expect_works("with all attributes", apply(end.qp.get(), full));
  }
}

void missing_rc() {
  missing(IBV_QPT_RC);
}
void missing_uc() {
  missing(IBV_QPT_UC);
}
void missing_ud() {
  missing(IBV_QPT_UD);
}
void missing_xrc_sender() {
  need_xrc();
  missing(IBV_QPT_XRC_SEND);
}

// A step of this type does not take these attributes.
void unfit_attributes() {
  End rc;
  Step step = step_to(IBV_QPS_INIT, rc);
  step.mask |= IBV_QP_QKEY;
  expect_error("RC to INIT with a Q_Key", EINVAL, apply(rc.qp.get(), step));
  step = step_to(IBV_QPS_INIT, rc);
  step.mask |= IBV_QP_SQ_PSN;
  expect_error("RC to INIT with a send PSN", EINVAL, apply(rc.qp.get(), step));
  Plan plan;
  plan.type = IBV_QPT_UD;
  End ud(plan);
  bring_to(IBV_QPS_INIT, ud);
  step = step_to(IBV_QPS_RTR, ud);
  step.mask |= IBV_QP_DEST_QPN;
  expect_error("UD to RTR with a peer", EINVAL, apply(ud.qp.get(), step));
  expect_state(ud.qp.get(), IBV_QPS_INIT);
}

void bad_port() {
  for (const int port : {0, device().attr.phys_port_cnt + 1}) {
    End end;
    Step step = step_to(IBV_QPS_INIT, end);
    step.attr.port_num = static_cast<uint8_t>(port);
    expect_error("port " + std::to_string(port), EINVAL, apply(end.qp.get(), step));
    expect_state(end.qp.get(), IBV_QPS_RESET);
  }
}

void bad_pkey() {
  End end;
  Step step = step_to(IBV_QPS_INIT, end);
  step.attr.pkey_index = device().port.pkey_tbl_len;
  expect_error("a partition key behind the table", EINVAL, apply(end.qp.get(), step));
}

void bad_values() {
  End end;
  bring_to(IBV_QPS_INIT, end);
  Step step = step_to(IBV_QPS_RTR, end);
  step.attr.path_mtu = static_cast<ibv_mtu>(IBV_MTU_4096 + 1);
  expect_error("an unknown MTU", EINVAL, apply(end.qp.get(), step));
  expect_state(end.qp.get(), IBV_QPS_INIT);
  expect_works("to RTR", apply(end.qp.get(), step_to(IBV_QPS_RTR, end)));
  step = step_to(IBV_QPS_RTS, end);
  step.attr.timeout = 32;
  expect_error("a timeout out of range", EINVAL, apply(end.qp.get(), step));
  expect_state(end.qp.get(), IBV_QPS_RTR);
}

void too_many_reads_out() {
  if (device().attr.max_qp_init_rd_atom >= 255) skip("device has no limit");
  End end;
  bring_to(IBV_QPS_RTR, end);
  Step step = step_to(IBV_QPS_RTS, end);
  step.attr.max_rd_atomic = 255;
  expect_error("more RDMA reads than the device sends", EINVAL, apply(end.qp.get(), step));
}

void too_many_reads_in() {
  if (device().attr.max_qp_rd_atom >= 255) skip("device has no limit");
  End end;
  bring_to(IBV_QPS_INIT, end);
  Step step = step_to(IBV_QPS_RTR, end);
  step.attr.max_dest_rd_atomic = 255;
  expect_error("more RDMA reads than the device answers", EINVAL, apply(end.qp.get(), step));
}

// INIT and RTS may be set again, which is how access flags change.
void change_in_place() {
  End end;
  bring_to(IBV_QPS_INIT, end);
  expect_works("INIT to INIT", apply(end.qp.get(), step_to(IBV_QPS_INIT, end)));
  expect_works("to RTR", apply(end.qp.get(), step_to(IBV_QPS_RTR, end)));
  expect_works("to RTS", apply(end.qp.get(), step_to(IBV_QPS_RTS, end)));
  Step step = step_to(IBV_QPS_RTS, end);
  step.mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER;
  step.attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  step.attr.min_rnr_timer = 5;
  expect_works("RTS to RTS", apply(end.qp.get(), step));
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  expect_works("ibv_query_qp", ibv_query_qp(end.qp.get(), &attr, IBV_QP_ACCESS_FLAGS, &init));
  expect_equal("access", static_cast<unsigned>(IBV_ACCESS_REMOTE_READ), attr.qp_access_flags);
  expect_equal("min_rnr_timer", uint8_t{5}, attr.min_rnr_timer);
}

// A drained send queue holds later requests until it may send again.
void drained() {
  Pair pair;
  const int error = go_to(pair.a.qp.get(), IBV_QPS_SQD);
  if (error == ENOSYS || error == EOPNOTSUPP) skip("device lacks SQD");
  expect_works("RTS to SQD", error);
  pair.b.post_receive(1);
  pair.a.fill(0, 8, 3);
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  expect_empty("in SQD", pair.a.send_cq.get());
  Step step;
  step.attr.qp_state = IBV_QPS_RTS;
  step.mask = IBV_QP_STATE;
  expect_works("SQD to RTS", apply(pair.a.qp.get(), step));
  expect_completion("the send held in SQD", pair.a.sent(), 1, IBV_WC_SEND);
  pair.b.received();
  pair.b.expect_bytes("data", 0, 8, 3);
}

void drained_event() {
  Pair pair;
  Step step;
  step.attr.qp_state = IBV_QPS_SQD;
  step.attr.en_sqd_async_notify = 1;
  step.mask = IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY;
  const int error = apply(pair.a.qp.get(), step);
  if (error == ENOSYS || error == EOPNOTSUPP) skip("device lacks SQD");
  expect_works("RTS to SQD", error);
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_SQ_DRAINED);
  const bool own = event.element.qp == pair.a.qp.get();
  ibv_ack_async_event(&event);
  expect(own, "the event is of another queue pair");
}

// Requests that were posted before RESET are gone: they give no completion and use no memory.
void reset_forgets() {
  Pair pair;
  pair.b.post_receive(1, 0);
  pair.b.post_receive(2, 0);
  expect_works("to RESET", go_to(pair.b.qp.get(), IBV_QPS_RESET));
  pair.b.connect(pair.a.address());
  expect_empty("after RESET", pair.b.recv_cq);
  pair.b.post_receive(3, 128);
  pair.a.fill(0, 8, 9);
  Request(IBV_WR_SEND, 4).piece(pair.a.piece(0, 8)).post(pair.a);
  expect_completion("the receive posted after RESET", pair.b.received(), 3, IBV_WC_RECV);
  pair.b.expect_bytes("data", 128, 8, 9);
}

constexpr Case kCases[] = {
    {"states.walk-rc", walk_rc},
    {"states.walk-uc", walk_uc},
    {"states.walk-ud", walk_ud},
    {"states.walk-xrc-sender", walk_xrc_sender},
    {"states.reset-and-error", reset_and_error},
    {"states.wrong-steps", wrong_steps},
    {"states.missing-rc", missing_rc},
    {"states.missing-uc", missing_uc},
    {"states.missing-ud", missing_ud},
    {"states.missing-xrc-sender", missing_xrc_sender},
    {"states.unfit-attributes", unfit_attributes},
    {"states.bad-port", bad_port},
    {"states.bad-pkey", bad_pkey},
    {"states.bad-values", bad_values},
    {"states.too-many-reads-out", too_many_reads_out},
    {"states.too-many-reads-in", too_many_reads_in},
    {"states.change-in-place", change_in_place},
    {"states.drained", drained},
    {"states.drained-event", drained_event},
    {"states.reset-forgets", reset_forgets},
};

}  // namespace

std::span<const Case> state_cases() {
  return kCases;
}

}  // namespace semantics
