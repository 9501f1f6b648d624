// A table of objects by number. The table chooses the numbers: the lower bits are an index, the
// higher ones a generation that changes each time an index is used again. So the number of a
// destroyed object stays invalid for a long time. 0 is never a number. The table does not lock; the
// interpreter uses it for all its objects.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace scela::hca {

// Numbers have `index_bits` + `generation_bits` bits, at most 32. The table has room for
// 2^index_bits - 2 objects.
template <class T, unsigned index_bits, unsigned generation_bits>
class Table {
 public:
  // No object gets an index below `first`, which is at least 1.
  explicit Table(std::uint32_t first = 1) : slots_(first - 1) {}

  // Makes a T from the arguments. Returns its number, or 0 if the table is full.
  template <class... Arguments>
  std::uint32_t add(Arguments&&... arguments) {
    std::uint32_t index = 0;
    // Indices rest before they are used again, because there are few generations.
    if (free_.size() > 64 || (slots_.size() >= kCapacity && !free_.empty())) {
      index = free_.front();
      free_.pop_front();
    } else if (slots_.size() < kCapacity) {
      slots_.emplace_back();
      index = static_cast<std::uint32_t>(slots_.size());
    } else {
      return 0;
    }
    Slot& slot = slots_[index - 1];
    slot.object = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    ++count_;
    return slot.generation << index_bits | index;
  }

  // Returns the object with this number, or null if there is none. The pointer is valid until
  // remove().
  T* find(std::uint32_t number) const {
    const std::uint32_t index = number & kIndexMask;
    if (index == 0 || index > slots_.size()) return nullptr;
    const Slot& slot = slots_[index - 1];
    return slot.generation == number >> index_bits ? slot.object.get() : nullptr;
  }

  // Destroys the object with this number; an unknown number is ignored.
  void remove(std::uint32_t number) {
    if (!find(number)) return;
    const std::uint32_t index = number & kIndexMask;
    Slot& slot = slots_[index - 1];
    slot.object.reset();
    slot.generation = (slot.generation + 1) & ((1U << generation_bits) - 1);
    free_.push_back(index);
    --count_;
  }

  // Returns how many objects there are.
  std::uint32_t count() const { return count_; }
  // Calls function(T&) for each object in the order of their indices. The function must neither add
  // nor remove objects.
  template <class Function>
  void each(Function function) const {
    for (const Slot& slot : slots_)
      if (slot.object) function(*slot.object);
  }

 private:
  static constexpr std::uint32_t kIndexMask = (1U << index_bits) - 1;
  static constexpr std::uint32_t kCapacity = kIndexMask - 1;  // all ones often has a meaning
  struct Slot {
    std::unique_ptr<T> object;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots_;
  std::deque<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

}  // namespace scela::hca
