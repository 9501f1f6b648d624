// The machine's monotonic clock: nanoseconds since some moment before boot, the same for every
// process of the machine. Any thread may read it.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace scela {

// Returns the clock's time in nanoseconds.
inline std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Returns a time of that clock as the clock of timers has it, which is the same one in libstdc++.
inline std::chrono::steady_clock::time_point moment_of(std::int64_t ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

}  // namespace scela
