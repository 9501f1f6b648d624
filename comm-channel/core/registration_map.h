// Which ranges of memory are registered: looked up by address, kept while they are used, and as
// long afterwards as there is room, the least recently used going first ("Offloading collective
// communication", the registration cache).
//
// Knows ranges and numbers only: who registers and gives back does so by take_dropped().
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace scela::channel {

class RegistrationMap {
 public:
  using Id = std::uint64_t;
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t bytes() const { return end - begin; }
    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
    bool covers(const Range& other) const { return begin <= other.begin && other.end <= end; }
  };

  // max_bytes: of what is kept and not used. Smaller: memory is registered again and again; larger:
  // more memory is locked.
  explicit RegistrationMap(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // One that covers the range, used once more from now on.
  std::optional<Id> use(const Range& range);
  // A new one, in use. kept: it may be found, and stay when it is not used; else it goes with its
  // use.
  Id add(const Range& range, bool kept);
  // One use less.
  void release(Id id);
  // What is at these addresses is not what was registered: nobody finds it any more. Who uses it
  // still does until he releases it.
  void invalidate(const Range& range);
  // The same for all.
  void invalidate_all();
  // Whether one that may be found overlaps it.
  bool overlaps(const Range& range) const;
  // What the owner must give back, since the last call.
  std::vector<Id> take_dropped() { return std::exchange(dropped_, {}); }

  std::uint64_t bytes() const { return bytes_; }  // of all that was not dropped
  std::uint64_t unused_bytes() const { return unused_bytes_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Range range;
    std::uint64_t uses = 0;
    bool found = false;             // in by_begin_
    std::list<Id>::iterator place;  // in unused_ if there are no uses, else in used_
  };
  void hide(Entry& entry);
  void drop(Id id);

  std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0, unused_bytes_ = 0;
  Id next_ = 1;
  std::unordered_map<Id, Entry> entries_;
  // None of these covers another, so they are in the order of their ends too; the one to cover a
  // range is the last that begins before it.
  std::map<std::uint64_t, Id> by_begin_;
  std::list<Id> unused_;  // the least recently used first
  std::list<Id> used_;    // so that who is used again and again needs no new place
  std::vector<Id> dropped_;
};

}  // namespace scela::channel
