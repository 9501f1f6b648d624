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
  // A function that calls `each` for every pair that the segment should hold. The writer calls it
  // when it lays the segment out.
  using Pairs = std::function<void(const Each& each)>;

  // Lays a segment out for a job of `job_ranks` ranks, with the pairs that `pairs` has. `base` is
  // borrowed memory of `bytes` bytes, zeroed and aligned to 8. It must have room for the header, a
  // bit for each rank and the first table of 64 slots. Other processes may map it only after the
  // constructor has returned.
  Writer(void* base, std::uint64_t bytes, std::uint64_t job_ranks, Pairs pairs);

  // Adds the pair or replaces its value. If it does not fit, the key is erased. erase() does
  // nothing for an unknown key.
  void set(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  // Marks the process of this rank, counted from 0, as failed. The caller must then wake the
  // processes that wait on the futex of `dead_generation` (pmi/protocol/segment_layout.h).
  void mark_dead(std::uint64_t rank);

  // Returns the key with this hash (pmi/protocol/segment_layout.h), or an empty view if there is
  // none. The view is valid until the next change.
  std::string_view key_of(std::uint64_t hash) const;

 private:
  // Returns the slot of the key, or the empty slot where its search ends.
  std::uint64_t* slot_of(std::string_view key, std::uint64_t hash);
  // Writes the pair without a rebuild. Returns false if there is no room; an old value then stays.
  bool place(std::string_view key, std::string_view value);
  // Makes a table with this many slots, a power of two, and copies the present slots there. Returns
  // false if there is no room.
  bool grow_table(std::uint64_t capacity);
  // Returns the bytes of replaced and erased pairs and of former tables.
  std::uint64_t garbage_bytes() const;
  // Lays all pairs out anew, while the sequence is odd. Pairs that do not fit are left out.
  void rebuild();
  // Returns the offset of this many new bytes, a multiple of 8, or 0 if there is no room.
  std::uint64_t allocate(std::uint64_t bytes);
  // Copies the text to the offset `at`, word by word.
  void store_text(std::uint64_t at, std::string_view text);
  // Returns true if the record at this offset has the key.
  bool key_is(std::uint64_t record, std::string_view key) const;

  std::uint64_t* words_;
  std::uint64_t bytes_;
  Pairs pairs_;
  std::uint64_t first_ = 0;       // offset of the first table or record
  std::uint64_t free_ = 0;        // offset of the first unused byte
  std::uint64_t capacity_ = 0;    // slots of the table
  std::uint64_t table_ = 0;       // offset of the table
  std::uint64_t used_slots_ = 0;  // tombstones included
  std::uint64_t live_bytes_ = 0;  // of records in use
};

}  // namespace scela::pmi::segment
