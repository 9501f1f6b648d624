// Numbers for the transfers between two processes. Each side sends the other side's number, and
// finds its own objects by theirs in constant time. Messenger uses them
// (comm-channel/messenger/messenger.h).
//
// A number consists of an index of the table (its place, 20 bits) and a counter that grows whenever
// the place is freed. A place goes through 4,095 numbers before it uses one again, so a number that
// arrives late is recognized as old. The class is not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scela::channel {

template <class Item>
class RequestTable {
 public:
  static constexpr std::uint32_t kPlaceBits = 20;

  // Assigns a number to an item. Returns 0 if no place is left (2^20 items are under way).
  std::uint32_t add(Item& item) {
    std::uint32_t place = free_;
    if (place != kNone) {
      free_ = places_[place].next;
    } else {
      if (places_.size() >> kPlaceBits != 0) return 0;
      place = static_cast<std::uint32_t>(places_.size());
      places_.emplace_back();
    }
    places_[place].item = &item;
    ++count_;
    return places_[place].life << kPlaceBits | place;
  }

  // Returns the item of a number, or nullptr if it is not, or no longer, a number of an item.
  Item* find(std::uint32_t number) const {
    const std::size_t place = number & kMask;
    if (place >= places_.size() || places_[place].life != number >> kPlaceBits) return nullptr;
    return places_[place].item;
  }

  // Frees the number and returns its item, or nullptr if it is not the number of an item.
  Item* remove(std::uint32_t number) {
    Item* item = find(number);
    if (item == nullptr) return nullptr;
    Place& place = places_[number & kMask];
    place.item = nullptr;
    place.life = place.life % kLives + 1;
    place.next = free_;
    free_ = number & kMask;
    --count_;
    return item;
  }

  bool empty() const { return count_ == 0; }
  // Returns all items, in any order. The cost grows with the most items there ever were at a time.
  std::vector<Item*> all() const {
    std::vector<Item*> items;
    items.reserve(count_);
    for (const Place& place : places_)
      if (place.item != nullptr) items.push_back(place.item);
    return items;
  }

 private:
  static constexpr std::uint32_t kMask = (1u << kPlaceBits) - 1;
  static constexpr std::uint32_t kLives = 0xfff;
  static constexpr std::uint32_t kNone = ~0u;

  struct Place {
    Item* item = nullptr;
    std::uint32_t life = 1;  // never 0, so no number is 0
    std::uint32_t next = kNone;
  };
  std::vector<Place> places_;
  std::uint32_t free_ = kNone;
  std::size_t count_ = 0;
};

}  // namespace scela::channel
