// Compares the changes of a queue pair's state with those that the specification names.
#include "hca/core/model/qp_states.h"

#include <catch2/catch.hpp>

namespace scela::hca::qp_states_test {

namespace a = attribute;

TEST_CASE(
    "hca: a queue pair goes from reset to ready with what each step requires, and with no less") {
  struct Step {
    QpState from, to;
    std::uint32_t mask;
  };
  struct Type {
    QpType type;
    Step steps[3];
  };
  const std::uint32_t path = a::kAv | a::kPathMtu | a::kDestQpn | a::kRqPsn;
  const std::uint32_t responder = a::kMaxDestRdAtomic | a::kMinRnrTimer;
  const std::uint32_t requester = a::kTimeout | a::kRetryCount | a::kRnrRetry | a::kMaxRdAtomic;
  const std::uint32_t init = a::kPkeyIndex | a::kPort;
  const Type types[] = {
      {QpType::rc,
       {{QpState::reset, QpState::init, init | a::kAccessFlags},
        {QpState::init, QpState::rtr, path | responder},
        {QpState::rtr, QpState::rts, a::kSqPsn | requester}}},
      {QpType::uc,
       {{QpState::reset, QpState::init, init | a::kAccessFlags},
        {QpState::init, QpState::rtr, path},
        {QpState::rtr, QpState::rts, a::kSqPsn}}},
      {QpType::ud,
       {{QpState::reset, QpState::init, init | a::kQkey},
        {QpState::init, QpState::rtr, 0},
        {QpState::rtr, QpState::rts, a::kSqPsn}}},
      {QpType::xrc_send,
       {{QpState::reset, QpState::init, init | a::kAccessFlags},
        {QpState::init, QpState::rtr, path},
        {QpState::rtr, QpState::rts, a::kSqPsn | requester}}},
      {QpType::xrc_recv,
       {{QpState::reset, QpState::init, init | a::kAccessFlags},
        {QpState::init, QpState::rtr, path | responder},
        {QpState::rtr, QpState::rts, a::kSqPsn | a::kTimeout}}},
  };
  for (const Type& type : types)
    for (const Step& step : type.steps) {
      INFO(static_cast<int>(type.type) << ": " << static_cast<int>(step.from));
      CHECK(may_change(type.type, step.from, step.to, a::kState | step.mask));
      for (std::uint32_t bit = 1; bit <= a::kDestQpn; bit <<= 1)
        if ((step.mask & bit) != 0)
          CHECK_FALSE(may_change(type.type, step.from, step.to, (a::kState | step.mask) & ~bit));
      CHECK_FALSE(may_change(type.type, step.from, step.to, a::kState | step.mask | a::kCap));
    }
}

TEST_CASE(
    "hca: a queue pair skips no state, goes to reset from everywhere, and to error from where it "
    "has begun") {
  for (const QpType type :
       {QpType::rc, QpType::uc, QpType::ud, QpType::xrc_send, QpType::xrc_recv}) {
    CHECK_FALSE(may_change(type, QpState::reset, QpState::rtr, a::kState));
    CHECK_FALSE(may_change(type, QpState::reset, QpState::rts, a::kState | a::kSqPsn));
    CHECK_FALSE(may_change(type, QpState::init, QpState::rts, a::kState | a::kSqPsn));
    CHECK_FALSE(may_change(type, QpState::err, QpState::init,
                           a::kState | a::kPkeyIndex | a::kPort | a::kQkey));
    CHECK_FALSE(may_change(type, QpState::err, QpState::rts, a::kState));
    CHECK_FALSE(may_change(type, QpState::rtr, QpState::sqd, a::kState));
    for (const QpState from : {QpState::reset, QpState::init, QpState::rtr, QpState::rts,
                               QpState::sqd, QpState::sqe, QpState::err}) {
      CHECK(may_change(type, from, QpState::reset, a::kState));
      CHECK(may_change(type, from, QpState::err, a::kState) == (from != QpState::reset));
    }
  }
  CHECK(may_change(QpType::ud, QpState::sqe, QpState::rts, a::kState));
  CHECK(may_change(QpType::uc, QpState::sqe, QpState::rts, a::kState));
  CHECK_FALSE(may_change(QpType::rc, QpState::sqe, QpState::rts, a::kState));
}

TEST_CASE(
    "hca: attributes that the other half of an XRC connection needs are accepted and ignored") {
  const std::uint32_t path = a::kState | a::kAv | a::kPathMtu | a::kDestQpn | a::kRqPsn;
  const std::uint32_t responder = a::kMaxDestRdAtomic | a::kMinRnrTimer;
  const std::uint32_t requester = a::kRetryCount | a::kRnrRetry | a::kMaxRdAtomic;
  const std::uint32_t ready = a::kState | a::kSqPsn | a::kTimeout;
  CHECK(may_change(QpType::xrc_send, QpState::init, QpState::rtr, path | responder));
  CHECK(may_change(QpType::xrc_recv, QpState::rtr, QpState::rts, ready | requester));
  CHECK_FALSE(may_change(QpType::xrc_send, QpState::init, QpState::rtr, path | requester));
  CHECK_FALSE(may_change(QpType::xrc_recv, QpState::init, QpState::rtr, path | requester));
  CHECK_FALSE(may_change(QpType::uc, QpState::init, QpState::rtr, path | responder));
}

}  // namespace scela::hca::qp_states_test
