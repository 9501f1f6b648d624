// Reads a node's segment (segment_layout.h) without a system call, a lock or an allocation. Ranks
// use it, through client::Connection.
//
// The reader needs no C++ run time, so that C clients can use it. The writing agent may be
// stopped or killed at any step, and a faulty segment may hold anything. Therefore every offset is
// checked and every loop is bounded. Several threads may read at the same time.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "pmi/protocol/segment_layout.h"

namespace scela::pmi::segment {

class Reader {
 public:
  // `base` is the mapped segment of `bytes` bytes, aligned to 8; it is borrowed and may be null.
  // usable() returns false if the memory does not have this layout; the other calls then find no
  // pair and no failed rank.
  Reader(const void* base, std::uint64_t bytes)
      : words_(static_cast<const std::uint64_t*>(base)), bytes_(bytes) {
    usable_ = base != nullptr && bytes >= kHeaderBytes && load(words_ + magic) == kMagic &&
              load(words_ + total_bytes) == bytes && bytes % 8 == 0;
  }
  bool usable() const { return usable_; }

  // Copies the value into `out`, without a terminating zero, and returns its length in bytes.
  // Returns std::nullopt if the pair is not here, if its value is longer than `room`, or if
  // kMaxTries attempts failed.
  std::optional<std::uint64_t> get(std::string_view key, char* out, std::uint64_t room) const {
    if (!usable_) return std::nullopt;
    const std::uint64_t hash = hash_of(key);
    for (int attempt = 0; attempt < kMaxTries; ++attempt) {
      const std::uint64_t before = load(words_ + sequence);
      if (before % 2 != 0) continue;
      const std::optional<std::uint64_t> size = try_get(key, hash, out, room);
      if (load(words_ + sequence) == before) return size;
    }
    return std::nullopt;
  }

  // Returns true if the rank, counted from 0, is marked as failed. Returns false for a number that
  // is no rank of the job.
  bool dead(std::uint64_t rank) const {
    const std::uint64_t at = usable_ ? load(words_ + dead_at) : 0;
    if (at == 0 || rank >= load(words_ + ranks)) return false;
    const std::uint64_t word = at + rank / 64 * 8;
    return fits(word, 8) && (load(words_ + word / 8) >> (rank % 64) & 1) != 0;
  }
  // Returns a number that grows whenever a rank is marked as failed.
  std::uint64_t generation() const { return usable_ ? load(words_ + dead_generation) : 0; }
  // Returns the address to wait on for the next generation (FUTEX_WAIT, shared).
  const std::uint32_t* futex() const {
    return reinterpret_cast<const std::uint32_t*>(words_ + dead_generation);
  }

 private:
  // Returns true if these bytes lie in the segment and begin at a multiple of 8.
  bool fits(std::uint64_t at, std::uint64_t bytes) const {
    return at % 8 == 0 && at <= bytes_ && bytes <= bytes_ - at;
  }

  // Makes one attempt of get(). The result counts only if the sequence is unchanged afterwards.
  std::optional<std::uint64_t> try_get(std::string_view key, std::uint64_t hash, char* out,
                                       std::uint64_t room) const {
    const std::uint64_t table = load(words_ + table_at);
    if (table == 0 || !fits(table, 8)) return std::nullopt;
    const std::uint64_t capacity = load(words_ + table / 8);
    if (capacity == 0 || (capacity & (capacity - 1)) != 0 || capacity > bytes_ / 8 ||
        !fits(table + 8, capacity * 8)) {
      return std::nullopt;
    }
    const std::uint64_t* const slots = words_ + table / 8 + 1;
    for (std::uint64_t i = 0, at = hash & (capacity - 1); i < capacity;
         ++i, at = (at + 1) & (capacity - 1)) {
      const std::uint64_t slot = load(slots + at);
      if (slot == 0) return std::nullopt;
      if (slot == kTombstone || slot >> 32 != hash >> 32) continue;
      const std::uint64_t record = (slot & UINT32_MAX) * 8;
      if (!fits(record, 8)) return std::nullopt;
      const std::uint64_t sizes = load(words_ + record / 8);
      const std::uint64_t key_size = sizes >> 32;
      const std::uint64_t value_size = sizes & UINT32_MAX;
      if (key_size != key.size()) continue;
      const std::uint64_t value = record + 8 + padded(key_size);
      if (!fits(record + 8, padded(key_size) + padded(value_size))) return std::nullopt;
      if (!equal(record + 8, key)) continue;
      if (value_size > room) return std::nullopt;
      copy(value, value_size, out);
      return value_size;
    }
    return std::nullopt;
  }

  // Returns true if the bytes at the offset `at` are the key. The caller has checked the bounds.
  bool equal(std::uint64_t at, std::string_view key) const {
    for (std::uint64_t i = 0; i < key.size(); i += 8) {
      const std::uint64_t word = load(words_ + (at + i) / 8);
      const std::size_t take = key.size() - i < 8 ? key.size() - i : 8;
      if (std::memcmp(&word, key.data() + i, take) != 0) return false;
    }
    return true;
  }
  // Copies `bytes` bytes at the offset `at` to `out`. The caller has checked the bounds.
  void copy(std::uint64_t at, std::uint64_t bytes, char* out) const {
    for (std::uint64_t i = 0; i < bytes; i += 8) {
      const std::uint64_t word = load(words_ + (at + i) / 8);
      std::memcpy(out + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
  }

  const std::uint64_t* words_;
  std::uint64_t bytes_;
  bool usable_;
};

}  // namespace scela::pmi::segment
