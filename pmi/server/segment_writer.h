// Writes a node's segment (pmi/protocol/segment_layout.h) into memory that somebody else mapped.
//
// One writer. Pages are touched as they are needed, so a large segment costs what it holds. When
// its room is used up, pairs are laid out anew without what was replaced or erased; what does not
// fit even so is left out and must be asked for otherwise: never an old value in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "pmi/protocol/segment_layout.h"

namespace scela::pmi::segment {

class Writer {
 public:
  using Each = std::function<void(std::string_view key, std::string_view value)>;
  // Gives every pair that the segment should hold, when it is laid out anew.
  using Pairs = std::function<void(const Each& each)>;

  // `base`: zeroed, aligned to 8, `bytes` long (at least least_bytes(ranks)), mapped by others only
  // when this is done.
  Writer(void* base, std::uint64_t bytes, std::uint64_t ranks, Pairs pairs);
  static std::uint64_t least_bytes(std::uint64_t ranks);

  void set(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  // The rank's process failed. The caller wakes who waits on the futex.
  void mark_dead(std::uint64_t rank);

  // The key with this hash (segment_layout.h); empty: there is none. A view until the next change.
  std::string_view key_of(std::uint64_t hash) const;

  std::uint64_t used_bytes() const { return free_; }

 private:
  std::uint64_t* slot_of(std::string_view key, std::uint64_t hash);
  bool place(std::string_view key, std::string_view value);
  bool grow_table(std::uint64_t capacity);
  std::uint64_t garbage_bytes() const;
  void rebuild();
  std::uint64_t allocate(std::uint64_t bytes);
  void store_text(std::uint64_t at, std::string_view text);
  bool key_is(std::uint64_t record, std::string_view key) const;

  std::uint64_t* words_;
  std::uint64_t bytes_;
  Pairs pairs_;
  std::uint64_t first_ = 0;  // where tables and records begin
  std::uint64_t free_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t table_ = 0;
  std::uint64_t used_slots_ = 0;  // tombstones included
  std::uint64_t live_bytes_ = 0;  // of records in use
};

}  // namespace scela::pmi::segment
