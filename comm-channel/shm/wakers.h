// The means by which the ranks of a node wake each other: a word of shared memory on which a rank
// sleeps (futex), or a pipe if the rank also waits for other descriptors. NodeLink owns one.
//
// One thread at a time may call it, except for sleep_on() and sleep_beside(). Ranks are those of
// the node, from 0.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm-channel/shm/segment.h"
#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::channel::shm {

class Wakers {
 public:
  // The segment must outlive this object.
  Wakers(const Segment& segment, std::uint32_t rank);

  // Makes this rank's pipe and publishes it. This must happen before the rank joins.
  Result<void> make_pipe();

  // Wakes the rank, if it sleeps on the word or by its pipe. The caller has changed the word.
  void wake(std::uint32_t rank, SharedAtomic<std::uint32_t>& word);
  // Wakes the rank from sleep_on() or sleep_beside(), even if there is nothing for it.
  void wake_in_any_case(std::uint32_t rank);

  // Blocks while the word is 1, at most for `limit` or kSlice. It may return earlier.
  static void sleep_on(const SharedAtomic<std::uint32_t>& word,
                       std::optional<std::chrono::nanoseconds> limit);
  // Blocks until this rank is woken by its pipe or the descriptor is readable, at most for `limit`
  // or kSlice. Returns whether the descriptor is readable. A descriptor of -1 is ignored.
  bool sleep_beside(int descriptor, std::optional<std::chrono::nanoseconds> limit);

 private:
  // Returns a descriptor for writing to the rank's pipe. Returns -1 if the rank has no pipe, or has
  // ended.
  int pipe_of(std::uint32_t rank);

  const Segment& segment_;
  const std::uint32_t rank_;
  Fd own_;                 // this rank's pipe, to read
  std::vector<Fd> pipes_;  // by rank, to write; of others, once woken
};

}  // namespace scela::channel::shm
