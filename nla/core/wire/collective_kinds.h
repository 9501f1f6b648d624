// Properties of the kinds of collective operations over the tree of agents. Both files that carry
// operations out, up and down the tree, use them (nla/core/kvs/collectives.h). Pure functions, for
// any thread.
#pragma once

#include "nla/core/wire/agent_messages.h"

namespace scela::nla {

// The error text (CollectiveDown::mismatch) of an operation with members that cannot be reached any
// more.
inline constexpr char kCutOff[] = "the agent that led to some of its ranks was lost";

// Returns true if members contribute records (nla/core/kvs/records.h).
inline bool carries_records(CollectiveKind kind) {
  return kind != CollectiveKind::barrier && kind != CollectiveKind::fence;
}

// Returns true if each record is for one member only.
inline bool is_personal(CollectiveKind kind) {
  return kind == CollectiveKind::scatter || kind == CollectiveKind::alltoall;
}

// Returns true if CollectiveUp::root and CollectiveDown::root mean something.
inline bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::gather || kind == CollectiveKind::broadcast ||
         kind == CollectiveKind::scatter;
}

// The most bytes of the text that says how members disagree: it names a host and two operations.
inline constexpr std::size_t kMaxMismatch = 1024;

// Checks a CollectiveUp or CollectiveDown from another agent. Returns false if the mismatch is too
// long. Returns false if the message has what only a fence has: packed pairs, and a clock, which
// the last piece brings.
template <class M>
bool is_valid(const M& message) {
  const bool fence = message.kind == CollectiveKind::fence;
  if (message.mismatch.size() > kMaxMismatch) return false;
  return (fence || !message.packed) && ((fence && message.last) || message.clock == 0);
}

}  // namespace scela::nla
