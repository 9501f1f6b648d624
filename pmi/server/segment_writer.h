// Writes a node's segment (pmi/protocol/segment_layout.h) into memory that the caller has mapped.
// The agent uses it.
//
// A segment has one writer, in one thread. Pages are touched only as they are needed, so a large
// segment costs only what it holds. If its room is used up, the writer lays out the pairs anew,
// without replaced or erased ones. A pair that still does not fit is left out, and ranks must ask
// for it; the segment never holds an old value in its place.
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
  // Calls `each` for every pair that the segment should hold. The writer calls this to lay the
  // segment out.
  using Pairs = std::function<void(const Each& each)>;

  // `base` is zeroed, aligned to 8 and `bytes` long, at least least_bytes(ranks). Other processes
  // may map it only after the constructor has returned.
  Writer(void* base, std::uint64_t bytes, std::uint64_t ranks, Pairs pairs);
  static std::uint64_t least_bytes(std::uint64_t ranks);

  void set(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  // Marks the rank's process as failed. The caller must wake the processes that wait on the futex.
  void mark_dead(std::uint64_t rank);

  // Returns the key with this hash (pmi/protocol/segment_layout.h), or an empty view if there is
  // none. The view is valid until the next change.
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
  std::uint64_t first_ = 0;  // offset of the first table or record
  std::uint64_t free_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t table_ = 0;
  std::uint64_t used_slots_ = 0;  // tombstones included
  std::uint64_t live_bytes_ = 0;  // of records in use
};

}  // namespace scela::pmi::segment
