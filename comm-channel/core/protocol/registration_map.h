// The registration cache: which ranges of memory are registered, found by address. A registration
// is kept while it is in use. Afterwards it is kept as long as there is room; the least recently
// used one goes first ("Offloading collective communication", the registration cache).
//
// The map knows ranges and numbers only. Registrations (comm-channel/verbs/registrations.h)
// registers memory, and deregisters what take_dropped() returns. The map is not thread-safe.
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
  // Addresses from `begin` up to, and without, `end`.
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t bytes() const { return end - begin; }
    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
    bool covers(const Range& other) const { return begin <= other.begin && other.end <= end; }
  };

  // `max_bytes` limits the bytes that are kept without a use. With a smaller value memory is
  // registered again and again; with a larger one more memory is locked.
  explicit RegistrationMap(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns a registration that covers the range, and counts one more use. Returns std::nullopt if
  // there is none.
  std::optional<Id> use(const Range& range);
  // Adds a registration with one use, and returns its number, which is never 0. If `kept` is true,
  // use() may find it, and it may stay without a use. Otherwise it is dropped when its use ends.
  Id add(const Range& range, bool kept);
  // Ends one use. A registration without a use may then be dropped (take_dropped()).
  void release(Id id);
  // Invalidates the registrations that overlap the range, because the memory there is no longer
  // what was registered. use() finds them no more. Their users may still use them until they
  // release them.
  void invalidate(const Range& range);
  // Invalidates all registrations.
  void invalidate_all();
  // Returns true if a registration that use() may find overlaps the range.
  bool overlaps(const Range& range) const;
  // Returns the registrations that the owner must deregister since the last call.
  std::vector<Id> take_dropped() { return std::exchange(dropped_, {}); }

  std::uint64_t bytes() const { return bytes_; }  // all registrations not yet dropped
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Range range;
    std::uint64_t uses = 0;
    bool found = false;             // is in by_begin_, so use() may find it
    std::list<Id>::iterator place;  // in unused_ if uses is 0, else in used_
  };
  // Makes use() find the registration no more. drop() removes one that is hidden and has no use.
  void hide(Entry& entry);
  void drop(Id id);

  std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0, unused_bytes_ = 0;
  Id next_ = 1;
  std::unordered_map<Id, Entry> entries_;
  // Registrations that use() may find. No one of them covers another, so they are in the order of
  // their ends too. If one covers a range, it is the last that begins at or before the range's
  // begin.
  std::map<std::uint64_t, Id> by_begin_;
  std::list<Id> unused_;  // least recently used first
  std::list<Id> used_;    // so that reuse allocates no list node
  std::vector<Id> dropped_;
};

}  // namespace scela::channel
