// Whether all that a completion queue held at some moment has been polled since. Neither an empty
// look nor a count suffices alone: a busy queue is never seen empty, and one that has been emptied
// may not have as much to come.
// Pure; a value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::channel {

class CompletionLooks {
 public:
  struct Mark {
    std::uint64_t looks = 0, found = 0;
  };

  // `capacity`: completions that the queue holds at most. Until it is told, an empty look counts.
  void hold(std::uint64_t capacity) { capacity_ = capacity; }
  // One poll asked for `most` completions, and got `found`.
  void looked(std::size_t found, std::size_t most) {
    ++looks_;
    found_ += found;
    if (found < most) emptied_ = looks_;
  }

  // This moment.
  Mark mark() const { return {looks_, found_}; }
  // Whether all that was in the queue at that moment has been polled: a later look emptied the
  // queue, or later looks have found as many as it holds.
  bool has_passed(const Mark& mark) const {
    return emptied_ > mark.looks || found_ - mark.found >= capacity_;
  }

 private:
  std::uint64_t capacity_ = ~std::uint64_t{0};
  std::uint64_t looks_ = 0, found_ = 0;
  std::uint64_t emptied_ = 0;  // the last look that emptied the queue
};

}  // namespace scela::channel
