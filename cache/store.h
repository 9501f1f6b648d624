// A table of key-value pairs with a stage: the container that the cache policies share.
//
// Knows nothing of trees and fences; a policy decides what is stored, staged and asked for
// elsewhere. Bytes lie in blocks that grow with the table, so that an agent with a few pairs holds
// a few kilobytes; values that are replaced leave holes, which are closed once they outweigh what
// is alive. Lookup by hash; everything that shows outside (the stage's order) is the order of
// calls.
//
// Views that find() and key()/value() give end with the next put, stage or commit. Keys and values
// are at most 2^32 - 1 bytes long (a frame carries far less).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/policy.h"

namespace scela::cache {

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Sets the pair now and remembers its key for the next take_stage().
  void stage(std::string_view key, std::string_view value);
  // Sets the pair, unless a newer value is staged: that one is this node's truth until it travels.
  void commit(std::string_view key, std::string_view value);
  // commit() for every pair of an aggregate; pairs after malformed bytes are lost.
  void commit_all(std::string_view aggregate);
  // The staged pairs in the order in which their keys were first staged, each once with its latest
  // value, as an aggregate; the stage is empty after it.
  std::string take_stage();

  std::optional<std::string_view> find(std::string_view key) const;
  Usage usage() const { return {entries_.size(), live_bytes_}; }
  // Bytes of the blocks: what is alive, holes, and room for more.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Entry {
    char* at;  // the key, then room for the value
    std::uint32_t key_size;
    std::uint32_t value_size;
    std::uint32_t room;  // bytes after the key, value_size of them used
    std::uint32_t hash;
    bool staged;
    std::string_view key() const { return {at, key_size}; }
    std::string_view value() const { return {at + key_size, value_size}; }
  };
  using EntryId = std::uint32_t;

  EntryId* slot_of(std::string_view key, std::uint32_t hash);
  const EntryId* slot_of(std::string_view key, std::uint32_t hash) const;
  Entry& put(std::string_view key, std::string_view value, bool keep_staged);
  char* allocate(std::size_t bytes);
  void write(Entry& entry, std::string_view value);
  void grow_index();
  void compact();

  std::vector<Entry> entries_;   // in order of first appearance
  std::vector<EntryId> index_;   // open addressing, a power of two; position in entries_ plus one
  std::vector<EntryId> staged_;  // positions in entries_
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // of the last block
  std::size_t free_bytes_ = 0;
  std::size_t next_block_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t used_bytes_ = 0;  // of the blocks: alive or holes
};

}  // namespace scela::cache
