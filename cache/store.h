// A table of key-value pairs with a stage: the container that the cache policies share.
//
// Knows nothing of trees and fences; a policy decides what is stored, staged, evicted and asked for
// elsewhere. Bytes lie in blocks that grow with the table, so that an agent with a few pairs holds
// a few kilobytes; values that are replaced or evicted leave holes, which are closed once they
// outweigh what is alive. Lookup by hash; everything that shows outside (the stage's order, who is
// evicted) is the order of calls.
//
//   a pair is    staged      from stage() to take_stage(): only this table has it
//                travelling  from take_stage() to settle(): others may not have it yet
//                kept        from keep() on: for good, with its latest value
//                settled     else: may be evicted
//
// Every pair has a stamp, the clock of the node that put it at that time. The clock moves with
// fences (tick(), saw()), so that a put behind a fence has a larger stamp than all that the fence
// took.
//
// Views that find(), use() and key()/value() give end with the next call that is not const. Keys
// and values are at most 2^32 - 1 bytes long (a frame carries far less).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/mirror.h"
#include "cache/policy.h"

namespace scela::cache {

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Sets the pair now and remembers its key for the next take_stage(). True: it took the place of
  // another value.
  bool stage(std::string_view key, std::string_view value);
  // Sets the pair, unless a newer one is here: by its stamp, or as it is staged, which is this
  // node's truth until it travels. True: not staged, and the value here was another.
  bool commit(std::string_view key, std::string_view value, Stamp stamp = 0);
  // The pair counts as travelling, as though it had been staged and were taken next. True: as
  // above.
  bool hold(std::string_view key, std::string_view value);
  // Sets the pair, unless a newer one is here, and keeps it from now on.
  void keep(std::string_view key, std::string_view value, Stamp stamp = 0);
  // commit() for every pair of an aggregate; pairs after malformed bytes are lost.
  void commit_all(std::string_view aggregate);
  // The staged pairs become travelling ones. All that were staged and travel, each once with its
  // latest value, as an aggregate, in the order in which their keys were first staged; those
  // that travel already are sent again, as nobody has said that they arrived.
  std::string take_stage();
  Stamp clock() const { return clock_; }
  // The clock moves on by one: what is put from now on is newer than what was.
  void tick() { saw(clock_ + (clock_ < UINT32_MAX ? 1 : 0)); }
  // The clock of others: what is put from now on is no older than what they had put.
  void saw(Stamp clock) { clock_ = std::max(clock_, clock); }
  // Of the pair that is here; 0 if there is none.
  Stamp stamp_of(std::string_view key) const;
  // The number of the last take_stage(), which settle() is given.
  std::uint64_t taken() const { return taken_; }

  // What travelled with that take_stage() or before has come to where it may not be evicted. What
  // is staged counts as put now.
  void settle(std::uint64_t taken);
  // What the pairs that are staged or travel take, about: keys, values, and kPairOverhead for each.
  std::uint64_t pending_bytes() const { return pending_bytes_ + charged_bytes_; }
  // Counts there too what takes room for good, until the charge is dropped.
  void charge(std::uint64_t bytes) { charged_bytes_ += bytes; }
  void drop_charge() { charged_bytes_ = 0; }
  // More than what a pair's two lengths and its stamp take on the wire.
  static constexpr std::uint64_t kPairOverhead = 16;

  bool is_staged(std::string_view key) const;
  // Staged or travelling.
  bool is_pending(std::string_view key) const;
  std::optional<std::string_view> find(std::string_view key) const;
  // And makes it the most recently used; so does everything that sets a pair.
  std::optional<std::string_view> use(std::string_view key);
  // Evicts settled pairs, least recently used first, until usage().bytes is at most `bytes` or none
  // is left. True: some were.
  bool evict_to(std::uint64_t bytes);
  // The same until the settled ones take at most `bytes`, whatever others take.
  void evict_settled_to(std::uint64_t bytes);
  // Evicts this one, if it is settled.
  void forget(std::string_view key);
  // Tells `mirror` of every change from now on; nullptr: nobody.
  void reflect_in(Mirror* mirror) { mirror_ = mirror; }
  void for_each(const std::function<void(std::string_view, std::string_view)>& each) const;
  Usage usage() const { return {entries_.size() - free_entries_.size(), live_bytes_}; }
  // Bytes of the blocks: what is alive, holes, and room for more.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  using EntryId = std::uint32_t;
  static constexpr EntryId kNone = UINT32_MAX;
  enum class Life : std::uint8_t { evicted, settled, travelling, staged, kept };

  struct Entry {
    char* at = nullptr;  // the key, then room for the value
    std::uint32_t key_size = 0;
    std::uint32_t value_size = 0;
    std::uint32_t room = 0;  // bytes after the key, value_size of them used
    std::uint32_t hash = 0;
    EntryId older = kNone;  // settled ones, in order of use
    EntryId newer = kNone;
    Life life = Life::settled;
    bool listed = false;  // in staged_ or travelling_
    bool held = false;    // hold() set it: it has travelled by itself
    Stamp stamp = 0;
    std::uint64_t taken = 0;  // travelling: since which take_stage()
    std::string_view key() const { return {at, key_size}; }
    std::string_view value() const { return {at + key_size, value_size}; }
    std::uint64_t bytes() const { return key_size + std::uint64_t{value_size}; }
  };
  const Entry* entry_of(std::string_view key) const;
  EntryId* slot_of(std::string_view key, std::uint32_t hash);
  const EntryId* slot_of(std::string_view key, std::uint32_t hash) const;
  // Without a stamp: put here and now; else one that came, and the newest stays.
  EntryId put(std::string_view key, std::string_view value, std::optional<Stamp> came);
  Stamp stamp_now(const Entry& entry) const;
  EntryId add(std::string_view key, std::string_view value, std::uint32_t hash);
  void set_life(EntryId id, Life life);
  void link_newest(EntryId id);
  void unlink(EntryId id);
  void evict(EntryId id);
  char* allocate(std::size_t bytes);
  void write(Entry& entry, std::string_view value);
  void close_holes();
  void grow_index();
  void compact();

  std::vector<Entry> entries_;
  std::vector<EntryId> index_;    // open addressing, a power of two; position in entries_ plus one
  std::vector<EntryId> pending_;  // positions in entries_: staged or travelling
  std::uint64_t taken_ = 0;
  Stamp clock_ = 0;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t charged_bytes_ = 0;
  std::size_t staged_ = 0;  // how many of pending_ are
  std::vector<EntryId> free_entries_;
  EntryId newest_ = kNone;
  EntryId oldest_ = kNone;
  Mirror* mirror_ = nullptr;
  bool differs_ = false;  // the last put() met another value, which was not staged
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // of the last block
  std::size_t free_bytes_ = 0;
  std::size_t next_block_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t settled_bytes_ = 0;
  std::uint64_t used_bytes_ = 0;  // of the blocks: alive or holes
};

}  // namespace scela::cache
