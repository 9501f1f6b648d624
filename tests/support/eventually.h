// Waits for what another process does. The condition is polled, and the deadline only ends a failed
// test.
#pragma once

#include <time.h>

#include "common/os/clock.h"

namespace scela::test {

inline constexpr std::uint64_t kFailureGuardMs = 20'000;

template <class Condition>
bool eventually(Condition&& condition, std::uint64_t guard_ms = kFailureGuardMs) {
  const std::uint64_t deadline = monotonic_ns() + guard_ms * 1'000'000;
  while (!condition()) {
    if (monotonic_ns() > deadline) return false;
    const timespec pause{0, 500'000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

}  // namespace scela::test
