// Tells if every completion that a completion queue held at some moment has been polled since.
//
// Neither an empty poll nor a count is enough alone. A busy queue is never seen empty, and a queue
// that was emptied may never deliver as many completions as it can hold.
//
// NetworkLink uses it for its receive queue (comm-channel/net/network_link.h). It is a pure value;
// the owner serializes calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::channel {

class CompletionLooks {
 public:
  // A moment: how many polls there were until then, and how many completions these found.
  struct Mark {
    std::uint64_t looks = 0, found = 0;
  };

  // Sets the largest number of completions that the queue can hold. Until it is set, only an empty
  // poll counts.
  void hold(std::uint64_t capacity) { capacity_ = capacity; }
  // Records one poll that asked for at most `most` completions and returned `found`.
  void looked(std::size_t found, std::size_t most) {
    ++looks_;
    found_ += found;
    if (found < most) emptied_ = looks_;
  }

  // Returns a mark of the present moment.
  Mark mark() const { return {looks_, found_}; }
  // Returns true if all completions that were in the queue at the mark have been polled. Either a
  // later poll emptied the queue, or later polls have found as many as the queue holds.
  bool has_passed(const Mark& mark) const {
    return emptied_ > mark.looks || found_ - mark.found >= capacity_;
  }

 private:
  std::uint64_t capacity_ = ~std::uint64_t{0};
  std::uint64_t looks_ = 0, found_ = 0;
  std::uint64_t emptied_ = 0;  // the last poll that emptied the queue
};

}  // namespace scela::channel
