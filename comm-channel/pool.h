// Objects that come and go often: made in blocks, kept for the next.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace scela::channel {

// T has a member `T* next_free`. Not for two threads at once. Objects are given out as they came
// back.
template <class T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  T& take() {
    if (free_ == nullptr) grow();
    T* const one = free_;
    free_ = one->next_free;
    return *one;
  }
  // Of those that were taken at some time; some are back.
  template <class Act>
  void each(Act act) {
    for (const auto& block : blocks_)
      for (std::size_t i = 0; i < kBlock; ++i)
        act(block[i]);
  }
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
