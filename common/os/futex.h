// Waits for the change of a word that processes share (futex(2)). std::atomic::wait works within
// one process only. Any thread may call the functions.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

namespace scela {

// Returns the time of the monotonic clock that is `ms` milliseconds (at least 0) from now, for
// futex_wait().
inline timespec deadline_in_ms(int ms) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1'000'000L;
  if (until.tv_nsec >= 1'000'000'000) {
    ++until.tv_sec;
    until.tv_nsec -= 1'000'000'000;
  }
  return until;
}

// Returns the address of an atomic word, as futex_wait() and futex_wake() take it.
inline const std::uint32_t* word_of(const std::atomic<std::uint32_t>& word) {
  return reinterpret_cast<const std::uint32_t*>(&word);
}

// Blocks while the word has the value `seen`. It also returns after a wake, a signal, or at `until`
// (monotonic clock); a null `until` means no limit. Returns false if `until` was reached, and true
// otherwise: the caller then checks the word again. It takes a time and not a duration, so that a
// wait that a signal interrupted does not begin anew.
inline bool futex_wait(const std::uint32_t* word, std::uint32_t seen, const timespec* until) {
  return ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, until, nullptr,
                   FUTEX_BITSET_MATCH_ANY) == 0 ||
         errno != ETIMEDOUT;
}

// Wakes all threads, of all processes, that wait for the word.
inline void futex_wake(const std::uint32_t* word) {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace scela
