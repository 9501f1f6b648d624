#include "hca/core/qp_states.h"

#include <array>

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
// An XRC queue pair has one half of a reliable connection.
constexpr std::array kInitiator{
    Change{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccessFlags, 0},
    Change{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccessFlags},
    Change{QpState::init, QpState::rtr, kPath, kAltPath | kAccessFlags | kPkeyIndex},
    Change{QpState::rtr, QpState::rts, kSqPsn | kRequesterLimits,
           kCurrentState | kAltPath | kAccessFlags | kPathMigState},
    Change{QpState::rts, QpState::rts, 0, kCurrentState | kAccessFlags | kAltPath | kPathMigState},
    Change{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Change{QpState::sqd, QpState::rts, 0, kCurrentState | kAltPath | kAccessFlags | kPathMigState},
    Change{QpState::sqd, QpState::sqd, 0, kDrained & ~(kMaxDestRdAtomic | kMinRnrTimer)},
};
constexpr std::array kTarget{
    Change{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccessFlags, 0},
    Change{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccessFlags},
    Change{QpState::init, QpState::rtr, kPath | kResponderLimits,
           kAltPath | kAccessFlags | kPkeyIndex},
    Change{QpState::rtr, QpState::rts, kSqPsn | kTimeout,
           kCurrentState | kAltPath | kAccessFlags | kMinRnrTimer | kPathMigState},
    Change{QpState::rts, QpState::rts, 0,
           kCurrentState | kAccessFlags | kAltPath | kPathMigState | kMinRnrTimer},
    Change{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Change{QpState::sqd, QpState::rts, 0,
           kCurrentState | kAltPath | kAccessFlags | kMinRnrTimer | kPathMigState},
    Change{QpState::sqd, QpState::sqd, 0, kDrained & ~(kRetryCount | kRnrRetry | kMaxRdAtomic)},
};

template <class Changes>
bool allowed(const Changes& changes, QpState from, QpState to, std::uint32_t attributes) {
  for (const Change& change : changes)
    if (change.from == from && change.to == to)
      return (attributes & change.required) == change.required &&
             (attributes & ~(change.required | change.optional | kState)) == 0;
  return false;
}

// Attributes of the half that an XRC queue pair does not have: programs name them as for RC, and
// the kernel leaves them out before a device sees them.
std::uint32_t ignored(QpType type) {
  switch (type) {
    case QpType::xrc_send:
      return kMaxDestRdAtomic | kMinRnrTimer;
    case QpType::xrc_recv:
      return kMaxRdAtomic | kRetryCount | kRnrRetry;
    default:
      return 0;
  }
}

}  // namespace

bool may_change(QpType type, QpState from, QpState to, std::uint32_t attributes) {
  attributes &= ~ignored(type);
  if (to == QpState::reset || (to == QpState::err && from != QpState::reset))
    return (attributes & ~kState) == 0;
  switch (type) {
    case QpType::ud:
      return allowed(kDatagram, from, to, attributes);
    case QpType::uc:
      return allowed(kUnreliable, from, to, attributes);
    case QpType::rc:
      return allowed(kConnected, from, to, attributes);
    case QpType::xrc_send:
      return allowed(kInitiator, from, to, attributes);
    case QpType::xrc_recv:
      return allowed(kTarget, from, to, attributes);
  }
  return false;
}

}  // namespace scela::hca
