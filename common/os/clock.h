// The machine's monotonic clock: nanoseconds since some moment before boot, the same for every
// process of the machine. Any thread may read it.
#pragma once

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

}  // namespace scela
