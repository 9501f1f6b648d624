// A table of key-value pairs with a stage: the container that the cache policies share.
//
// The table knows nothing of trees and fences. A policy decides which pairs are stored, staged,
// evicted and asked for elsewhere. Bytes lie in blocks that grow with the table, so that an agent
// with a few pairs holds a few kilobytes. Values that are replaced or evicted leave holes, which
// are closed once they outweigh the live bytes. Lookup is by hash. Everything that shows outside
// (the order of the stage, which pairs are evicted) follows the order of calls.
//
//   a pair is    staged      from stage() to take_stage(): only this table has it
//                travelling  from take_stage() to settle(): others may not have it yet
//                kept        from keep() on: for good, with its latest value
//                settled     else: may be evicted
//
// Every pair has a stamp: the time of its put, on the clock of the node that put it. The clock
// moves with fences (tick(), saw()), so that a put behind a fence has a larger stamp than all that
// the fence took.
//
// Views that find(), use() and key()/value() return are valid until the next call that is not
// const. Keys and values are at most 2^32 - 1 bytes long (a frame carries far less). The table has
// no lock: one thread at a time uses it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/byte_blocks.h"
#include "cache/key_index.h"
#include "cache/mirror.h"
#include "cache/policy.h"

namespace scela::cache {

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Sets a pair that a rank of this node has put, and makes it a staged one, for the next
  // take_stage(). Returns true if the key was here with another value.
  bool stage(std::string_view key, std::string_view value);
  // Sets a pair that has come from another node, unless a newer one is here. A pair is newer by its
  // stamp, or if it is staged: that is this node's own value until it travels. Returns true if the
  // key was here with another value, not staged; so it may be true although the newer value stays.
  bool commit(std::string_view key, std::string_view value, Stamp stamp = 0);
  // Sets a pair that a rank of this node has put and that the caller sends by itself. The pair is a
  // travelling one until settle() of the next take_stage(); that aggregate leaves it out. Returns
  // true if the key was here with another value.
  bool hold(std::string_view key, std::string_view value);
  // Sets the pair, unless a newer one is here, and makes its key a kept one: it is never evicted.
  void keep(std::string_view key, std::string_view value, Stamp stamp = 0);
  // Calls commit() for every pair of an aggregate. Pairs after malformed bytes are lost.
  void commit_all(std::string_view aggregate);
  // Makes the staged pairs travelling ones. Returns all pairs that were staged or travel, as an
  // aggregate. Each pair is there once with its latest value, in the order in which the keys were
  // first staged. A pair that travels already is sent again, because no agent has confirmed that it
  // arrived.
  std::string take_stage();
  // Returns the stamp that a new pair of this node would get now.
  Stamp clock() const { return clock_; }
  // Moves the clock on by one: what is put from now on is newer than what was put before.
  void tick() { saw(clock_ + (clock_ < UINT32_MAX ? 1 : 0)); }
  // Takes over another node's clock: what is put from now on is no older than what that node had
  // put.
  void saw(Stamp clock) { clock_ = std::max(clock_, clock); }
  // Returns the stamp of the pair that is here, or 0 if there is none.
  Stamp stamp_of(std::string_view key) const;
  // Returns the number of the last take_stage(), from 1; 0 before the first.
  std::uint64_t taken() const { return taken_; }

  // Makes the pairs that travelled with the take_stage() of this number or an earlier one settled
  // ones: they have arrived where they may not be evicted. Staged pairs get the stamp of a put made
  // now.
  void settle(std::uint64_t taken);
  // Returns about how many bytes the staged and travelling pairs take: keys, values, and
  // kPairOverhead for each pair. What charge() added is included. The agent refuses puts by this.
  std::uint64_t pending_bytes() const { return pending_bytes_ + charged_bytes_; }
  // Adds `bytes` to pending_bytes() until drop_charge(): for pairs that are kept here and so do not
  // count otherwise.
  void charge(std::uint64_t bytes) { charged_bytes_ += bytes; }
  void drop_charge() { charged_bytes_ = 0; }
  // Bytes for each pair: more than its two lengths and its stamp take on the wire.
  static constexpr std::uint64_t kPairOverhead = 16;

  // Returns false if there is no such pair.
  bool is_staged(std::string_view key) const;
  // Returns true if the pair is staged or travelling.
  bool is_pending(std::string_view key) const;
  // Returns the value, or std::nullopt if there is no such pair. Does not count as a use.
  std::optional<std::string_view> find(std::string_view key) const;
  // Returns the same as find() and makes the pair the most recently used one. Every call that sets
  // a pair does that too.
  std::optional<std::string_view> use(std::string_view key);
  // Evicts settled pairs, least recently used first, until usage().bytes is at most `bytes` or no
  // settled pair is left. Returns true if a pair was evicted.
  bool evict_to(std::uint64_t bytes);
  // Evicts settled pairs, least recently used first, until the settled ones take at most `bytes`.
  // Other pairs do not count.
  void evict_settled_to(std::uint64_t bytes);
  // Evicts this pair if it is settled; otherwise does nothing.
  void forget(std::string_view key);
  // Passes every later change of a pair to `mirror`, which is borrowed and must live as long as it
  // is set. nullptr: no mirror. Pairs that are here already are not passed.
  void reflect_in(Mirror* mirror) { mirror_ = mirror; }
  // Calls each(key, value) for every pair, in any order. `each` must not change the table.
  void for_each(const std::function<void(std::string_view, std::string_view)>& each) const;
  // Returns the number of pairs here and the bytes of their keys and values.
  Usage usage() const { return {entries_.size() - free_entries_.size(), live_bytes_}; }
  // Returns the bytes of the blocks: live bytes, holes, and room for more.
  std::uint64_t held_bytes() const { return blocks_.held_bytes(); }

 private:
  using EntryId = KeyIndex::EntryId;
  static constexpr EntryId kNone = KeyIndex::kNone;
  // The states of the table above. The position of an evicted pair is free for another pair.
  enum class Life : std::uint8_t { evicted, settled, travelling, staged, kept };

  // One pair of the table, or a free position.
  struct Entry {
    char* at = nullptr;  // the key, then room for the value
    std::uint32_t key_size = 0;
    std::uint32_t value_size = 0;
    std::uint32_t room = 0;  // bytes after the key, used or free
    std::uint32_t hash = 0;
    EntryId older = kNone;  // the list of settled pairs by use
    EntryId newer = kNone;
    Life life = Life::settled;
    bool listed = false;  // in pending_
    bool held = false;    // hold() set it; it has travelled alone
    Stamp stamp = 0;
    std::uint64_t taken = 0;  // the take_stage() that it travels with
    std::string_view key() const { return {at, key_size}; }
    std::string_view value() const { return {at + key_size, value_size}; }
    std::uint64_t bytes() const { return key_size + std::uint64_t{value_size}; }
    // Returns the stamp of a put of this node that replaces the value now. The put is newer than a
    // value that has come here from any node. It is as new as a value that is staged.
    Stamp stamp_of_put(Stamp clock) const {
      const bool own = life == Life::staged || stamp == 0 || stamp == UINT32_MAX;
      return std::max(clock, stamp + (own ? 0 : 1));
    }
  };
  // Returns nullptr if the key is not in the table.
  const Entry* entry_of(std::string_view key) const;
  // Returns kNone if the key, which has this hash, is not in the table.
  EntryId find_id(std::string_view key, std::uint32_t hash) const;
  // Sets the pair, and differs_. Without a stamp it was put here and now. With one it came from
  // another node, and the newest value stays. The life of a pair that was here does not change.
  EntryId put(std::string_view key, std::string_view value, std::optional<Stamp> came);
  // Adds a key that is not in the table, as the newest settled pair. Sets no stamp.
  EntryId add(std::string_view key, std::string_view value, std::uint32_t hash);
  // Makes the entry settled, travelling or staged, and updates the lists and the counts. The caller
  // takes an entry that becomes settled out of pending_.
  void set_life(EntryId id, Life life);
  // Adds an entry to the list of settled pairs, as the most recently used one. unlink() removes it.
  void link_newest(EntryId id);
  void unlink(EntryId id);
  // Removes the pair from the table and the mirror. Requires a settled entry.
  void evict(EntryId id);
  // Replaces an entry's value. May call compact().
  void write(Entry& entry, std::string_view value);
  // Calls compact() if the holes outweigh the live bytes and are not small.
  void close_holes();
  // Makes index_ larger and enters all pairs anew.
  void grow_index();
  // Copies all pairs into new blocks without holes. Views of keys and values become invalid.
  void compact();

  std::vector<Entry> entries_;
  KeyIndex index_;
  ByteBlocks blocks_;
  std::vector<EntryId> pending_;  // staged or travelling entries
  std::uint64_t taken_ = 0;
  Stamp clock_ = 0;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t charged_bytes_ = 0;
  std::size_t staged_ = 0;  // the number of staged ones in pending_
  std::vector<EntryId> free_entries_;
  EntryId newest_ = kNone;
  EntryId oldest_ = kNone;
  Mirror* mirror_ = nullptr;
  // True if the last put() met another value. A staged value counts only for a put of this node.
  bool differs_ = false;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t settled_bytes_ = 0;
};

}  // namespace scela::cache
