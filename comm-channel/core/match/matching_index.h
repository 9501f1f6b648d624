// The containers in which Matcher (matching.h) finds receives and messages. Index is a hash table
// that has, for each key, a list of items in the order of their addition. Order lists all items in
// that order.
//
// Both are intrusive: the items hold the links and belong to the caller. The first item of each key
// is in its bucket's chain, and the others hang on the first. So a search passes one item for each
// key that shares the bucket, however many items there are. Neither class is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "comm-channel/core/match/envelope.h"

namespace scela::channel {

// The members of an item by which an Index finds it. Only the Index writes them.
template <class Item>
struct IndexLinks {
  Item* chain = nullptr;  // first of a key: next key in its bucket
  Item** at = nullptr;    // its pointer there; null: not the first
  Item* next = nullptr;   // next item of the same key, as a ring
  Item* previous = nullptr;
};

// The bucket table doubles if there are more keys than buckets. If no memory is left for that, the
// table stays and chains become longer.
//
// A single key is kept beside the table and is found by one comparison. This is the common case:
// two ranks mostly have one message under way, or many of a kind.
//
// The parameter By has Item, `static IndexLinks<Item>& links(Item&)` and `static Pattern key(const
// Item&)`.
template <class By>
class Index {
 public:
  using Item = typename By::Item;

  // Returns the first item of this key, or nullptr.
  Item* find(const Pattern& key) const {
    if (alone_ != nullptr) return By::key(*alone_) == key ? alone_ : nullptr;
    if (keys_ == 0) return nullptr;
    Item* item = buckets_[bucket_of(key)];
    while (item != nullptr && By::key(*item) != key)
      item = By::links(*item).chain;
    return item;
  }

  // Adds an item behind all others of its key.
  void add(Item& item) {
    const Pattern key = By::key(item);
    auto& links = By::links(item);
    if (Item* first = find(key)) {
      Item* last = By::links(*first).previous;
      links = {nullptr, nullptr, first, last};
      By::links(*last).next = &item;
      By::links(*first).previous = &item;
      return;
    }
    links.next = links.previous = &item;
    if (keys_++ == 0) return push(alone_, item);
    if (alone_ != nullptr) {
      Item& other = *std::exchange(alone_, nullptr);
      push(buckets_[bucket_of(By::key(other))], other);
    }
    if (keys_ > size_) grow();
    push(buckets_[bucket_of(key)], item);
  }

  // Adds an item before another of its key.
  void add_before(Item& item, Item& other) {
    auto& links = By::links(item);
    auto& others = By::links(other);
    links = {nullptr, nullptr, &other, others.previous};
    By::links(*others.previous).next = &item;
    others.previous = &item;
    if (others.at == nullptr) return;
    links.chain = others.chain;
    links.at = others.at;
    if (links.chain != nullptr) By::links(*links.chain).at = &links.chain;
    *links.at = &item;
    others.chain = nullptr;
    others.at = nullptr;
  }

  // Removes an item, which must be in the table.
  void remove(Item& item) {
    auto& links = By::links(item);
    const bool alone = links.next == &item;
    if (!alone) {
      By::links(*links.previous).next = links.next;
      By::links(*links.next).previous = links.previous;
    }
    if (links.at != nullptr) {
      Item* heir = alone ? links.chain : links.next;
      if (!alone) {
        By::links(*heir).at = links.at;
        By::links(*heir).chain = links.chain;
        if (links.chain != nullptr) By::links(*links.chain).at = &By::links(*heir).chain;
      } else {
        if (heir != nullptr) By::links(*heir).at = links.at;
        --keys_;
      }
      *links.at = heir;
    }
    links = {};
  }

  // Returns the next item of the same key, or nullptr behind the last.
  static Item* after(Item& item) {
    Item* next = By::links(item).next;
    return By::links(*next).at != nullptr ? nullptr : next;
  }

 private:
  static constexpr std::size_t kFewest = 64;

  std::size_t bucket_of(const Pattern& key) const {
    std::uint64_t mixed =
        (std::uint64_t{key.context} << 32 | static_cast<std::uint32_t>(key.source)) *
        0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 32;
    mixed = (mixed + static_cast<std::uint32_t>(key.tag)) * 0xd6e8feb86659fd93u;
    return (mixed >> 32) & (size_ - 1);
  }

  // Puts the first item of a key at the head of a bucket's chain.
  static void push(Item*& head, Item& item) {
    auto& links = By::links(item);
    links.chain = head;
    links.at = &head;
    if (head != nullptr) By::links(*head).at = &links.chain;
    head = &item;
  }

  void grow() {
    const std::size_t size = size_ == 1 ? kFewest : size_ * 2;
    std::unique_ptr<Item*[]> buckets(new (std::nothrow) Item* [size] {});
    if (!buckets) return;
    const std::size_t before = size_;
    size_ = size;
    for (std::size_t i = 0; i < before; ++i) {
      Item* item = buckets_[i];
      while (item != nullptr) {
        Item* next = By::links(*item).chain;
        push(buckets[bucket_of(By::key(*item))], *item);
        item = next;
      }
    }
    owned_ = std::move(buckets);
    buckets_ = owned_.get();
  }

  std::size_t keys_ = 0;
  std::size_t size_ = 1;   // a power of two
  Item* alone_ = nullptr;  // first item of a key that came alone
  Item* only_ = nullptr;   // the only bucket while there is no table
  std::unique_ptr<Item*[]> owned_;
  Item** buckets_ = &only_;
};

// The members of an item by which an Order finds it; null at the ends. Only the Order writes them.
template <class Item>
struct OrderLinks {
  Item* next = nullptr;
  Item* previous = nullptr;
};

// All items in the order of their addition. The parameter By has Item and `static OrderLinks<Item>&
// order(Item&)`.
template <class By>
class Order {
 public:
  using Item = typename By::Item;

  // Returns the first item, or nullptr. after() returns the next one, or nullptr behind the last.
  Item* first() const { return first_; }
  static Item* after(const Item& item) { return By::order(const_cast<Item&>(item)).next; }

  // Adds an item behind all others, or right before `other`, which must be in the list.
  void add(Item& item) {
    By::order(item) = {nullptr, last_};
    (last_ != nullptr ? By::order(*last_).next : first_) = &item;
    last_ = &item;
  }

  void add_before(Item& item, Item& other) {
    auto& others = By::order(other);
    By::order(item) = {&other, others.previous};
    (others.previous != nullptr ? By::order(*others.previous).next : first_) = &item;
    others.previous = &item;
  }

  void remove(Item& item) {
    auto& links = By::order(item);
    (links.previous != nullptr ? By::order(*links.previous).next : first_) = links.next;
    (links.next != nullptr ? By::order(*links.next).previous : last_) = links.previous;
    links = {};
  }

 private:
  Item* first_ = nullptr;
  Item* last_ = nullptr;
};

}  // namespace scela::channel
