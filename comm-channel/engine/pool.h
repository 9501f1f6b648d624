// A pool of objects that are often taken and given back. They are allocated in blocks, and blocks
// are kept.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace scela::channel {

// T has a member `T* next_free`. Only one thread at a time may call it. The object that came back
// last is taken first.
template <class T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Returns an object that is not in use, in the state in which it was given back. Allocates a
  // block if there is none.
  T& take() {
    if (free_ == nullptr) grow();
    T* const one = free_;
    free_ = one->next_free;
    return *one;
  }
  // Calls `act` for every object that was ever allocated; some of them may have been given back.
  template <class Act>
  void each(Act act) {
    for (const auto& block : blocks_)
      for (std::size_t i = 0; i < kBlock; ++i)
        act(block[i]);
  }
  // Returns an object to the pool. It is not destroyed, and must be one of take().
  void give_back(T& one) {
    one.next_free = free_;
    free_ = &one;
  }

 private:
  static constexpr std::size_t kBlock = 64;

  void grow() {
    blocks_.push_back(std::make_unique<T[]>(kBlock));
    for (std::size_t i = kBlock; i-- > 0;)
      give_back(blocks_.back()[i]);
  }

  std::vector<std::unique_ptr<T[]>> blocks_;
  T* free_ = nullptr;
};

}  // namespace scela::channel
