#include "hca/core/model/qp_states.h"

#include <array>
#include <span>

namespace scela::hca {
namespace {

using namespace attribute;

struct Change {
  QpState from;
  QpState to;
  std::uint32_t required;
  std::uint32_t optional;
};

constexpr std::uint32_t kResponderLimits = kMaxDestRdAtomic | kMinRnrTimer;
constexpr std::uint32_t kRequesterLimits = kTimeout | kRetryCount | kRnrRetry | kMaxRdAtomic;
constexpr std::uint32_t kPath = kAv | kPathMtu | kDestQpn | kRqPsn;
constexpr std::uint32_t kDrained = kPort | kAv | kTimeout | kRetryCount | kRnrRetry | kMaxRdAtomic |
                                   kMaxDestRdAtomic | kCurrentState | kAltPath | kAccessFlags |
                                   kPkeyIndex | kMinRnrTimer | kPathMigState;

constexpr std::array kDatagram{
    Change{QpState::reset, QpState::init, kPkeyIndex | kPort | kQkey, 0},
    Change{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kQkey},
    Change{QpState::init, QpState::rtr, 0, kPkeyIndex | kQkey},
    Change{QpState::rtr, QpState::rts, kSqPsn, kCurrentState | kQkey},
    Change{QpState::rts, QpState::rts, 0, kCurrentState | kQkey},
    Change{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Change{QpState::sqd, QpState::rts, 0, kCurrentState | kQkey},
    Change{QpState::sqd, QpState::sqd, 0, kPkeyIndex | kQkey},
    Change{QpState::sqe, QpState::rts, 0, kCurrentState | kQkey},
};
constexpr std::array kUnreliable{
    Change{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccessFlags, 0},
    Change{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccessFlags},
    Change{QpState::init, QpState::rtr, kPath, kAltPath | kAccessFlags | kPkeyIndex},
    Change{QpState::rtr, QpState::rts, kSqPsn,
           kCurrentState | kAltPath | kAccessFlags | kPathMigState},
    Change{QpState::rts, QpState::rts, 0, kCurrentState | kAccessFlags | kAltPath | kPathMigState},
    Change{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Change{QpState::sqd, QpState::rts, 0, kCurrentState | kAccessFlags | kAltPath | kPathMigState},
    Change{QpState::sqd, QpState::sqd, 0,
           kAv | kAltPath | kAccessFlags | kPkeyIndex | kPathMigState},
    Change{QpState::sqe, QpState::rts, 0, kCurrentState | kAccessFlags},
};
constexpr std::array kConnected{
    Change{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccessFlags, 0},
    Change{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccessFlags},
    Change{QpState::init, QpState::rtr, kPath | kResponderLimits,
           kAltPath | kAccessFlags | kPkeyIndex},
    Change{QpState::rtr, QpState::rts, kSqPsn | kRequesterLimits,
           kCurrentState | kAltPath | kAccessFlags | kMinRnrTimer | kPathMigState},
    Change{QpState::rts, QpState::rts, 0,
           kCurrentState | kAccessFlags | kAltPath | kPathMigState | kMinRnrTimer},
    Change{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Change{QpState::sqd, QpState::rts, 0,
           kCurrentState | kAltPath | kAccessFlags | kMinRnrTimer | kPathMigState},
    Change{QpState::sqd, QpState::sqd, 0, kDrained},
};
// Returns the attributes of the half of a reliable connection that an XRC queue pair does not have.
// Programs name them as for RC, and the kernel removes them before a device sees them.
std::uint32_t of_other_half(QpType type) {
  switch (type) {
    case QpType::xrc_send:
      return kMaxDestRdAtomic | kMinRnrTimer;
    case QpType::xrc_recv:
      return kMaxRdAtomic | kRetryCount | kRnrRetry;
    default:
      return 0;
  }
}

std::span<const Change> changes_of(QpType type) {
  switch (type) {
    case QpType::ud:
      return kDatagram;
    case QpType::uc:
      return kUnreliable;
    case QpType::rc:
    case QpType::xrc_send:
    case QpType::xrc_recv:
      return kConnected;
  }
  return {};
}

}  // namespace

bool may_change(QpType type, QpState from, QpState to, std::uint32_t attributes) {
  const std::uint32_t left_out = of_other_half(type);
  attributes &= ~left_out;
  if (to == QpState::reset || (to == QpState::err && from != QpState::reset))
    return (attributes & ~kState) == 0;
  for (const Change& change : changes_of(type)) {
    if (change.from != from || change.to != to) continue;
    const std::uint32_t required = change.required & ~left_out;
    return (attributes & required) == required &&
           (attributes & ~(required | change.optional | kState)) == 0;
  }
  return false;
}

}  // namespace scela::hca
