// What kinds of collective operations have in common, for both of their ways (collectives.h).
#pragma once

#include "nla/core/messages.h"

namespace scela::nla {

inline constexpr char kCutOff[] = "the agent that led to some of its ranks was lost";

inline bool carries_records(CollectiveKind kind) {
  return kind != CollectiveKind::barrier && kind != CollectiveKind::fence;
}

inline bool is_personal(CollectiveKind kind) {
  return kind == CollectiveKind::scatter || kind == CollectiveKind::alltoall;
}

inline bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::gather || kind == CollectiveKind::broadcast ||
         kind == CollectiveKind::scatter;
}

// Of what says how members disagree: it names a host and two operations.
inline constexpr std::size_t kMaxMismatch = 1024;

// Only fences have pairs to pack, and a clock, which the last word brings.
template <class M>
bool may_say(const M& message) {
  const bool fence = message.kind == CollectiveKind::fence;
  if (message.mismatch.size() > kMaxMismatch) return false;
  return (fence || !message.packed) && ((fence && message.last) || message.clock == 0);
}

}  // namespace scela::nla
