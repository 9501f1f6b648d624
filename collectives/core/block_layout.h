// Layouts: the bytes that the blocks of a list are. The caller makes one when an operation is
// started. Executors, the checker and offload plans read it. A layout is a value.
//
// Blocks are a "run" if each begins where the one before it ends, so that they are one piece of
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/core/task_list.h"

namespace scela::collectives {

// The offset and size of each block of one space, in bytes. Offsets count from the address of the
// space. Blocks are numbered from 0.
class BlockSizes {
 public:
  // Returns `count` blocks of `bytes` each, one behind the other.
  static BlockSizes equal(std::uint32_t count, std::uint64_t bytes);
  // Returns `bytes` cut into `count` blocks that begin at multiples of `unit`, an element's size in
  // bytes. The sizes are as equal as that allows, the larger ones first. Some may be empty.
  static BlockSizes cut(std::uint64_t bytes, std::uint32_t count, std::uint64_t unit);
  // Returns blocks of these sizes in bytes, one behind the other, as in the v forms without
  // displacements.
  static BlockSizes packed(const std::vector<std::uint64_t>& sizes);
  // Returns blocks at these offsets with these sizes, both in bytes and of one length, as in the v
  // forms with displacements. If such blocks are no run, a task that names several of them is
  // carried out in parts.
  static BlockSizes placed(std::vector<std::uint64_t> offsets, std::vector<std::uint64_t> sizes);
  // Returns the blocks of `whole`, each cut into `parts` blocks as by cut(). Block b becomes the
  // blocks from b * parts on. `unit` is the size of an element in bytes.
  static BlockSizes segmented(const BlockSizes& whole, std::uint32_t parts, std::uint64_t unit);

  // Returns the number of blocks.
  std::uint32_t count() const;
  // Returns the offset of a block in bytes. `block` must be below count().
  std::uint64_t offset(std::uint32_t block) const;
  // Returns the size of a block in bytes. `block` must be below count().
  std::uint64_t size(std::uint32_t block) const;
  // Returns the size of `count` blocks from `first` on, which must be a run.
  std::uint64_t size(std::uint32_t first, std::uint32_t count) const;
  // Returns true if `count` blocks from `first` on are a run. No block and one block are runs.
  bool is_run(std::uint32_t first, std::uint32_t count) const;
  // Returns true if all blocks together are a run, so that any of them that follow each other are
  // one.
  bool is_packed() const { return packed_; }
  // Returns the sum of the sizes of `count` blocks from `first` on, which need not be a run.
  std::uint64_t total(std::uint32_t first, std::uint32_t count) const;
  // Returns the offset behind the last byte of any block; 0 if there is no block.
  std::uint64_t end() const;

 private:
  // Does what is_run() does, for blocks that have offsets.
  bool touch(std::uint32_t first, std::uint32_t count) const;

  std::uint32_t count_ = 0;
  bool packed_ = true;
  std::uint64_t each_ = 0;              // size of each, if offsets_ is empty
  std::vector<std::uint64_t> offsets_;  // empty: equal blocks, back to back
  std::vector<std::uint64_t> sizes_;
};

// The blocks of all three spaces of one rank's list.
struct Layout {
  std::array<BlockSizes, 3> spaces;  // indexed by Space
  const BlockSizes& of(Space space) const { return spaces[static_cast<std::size_t>(space)]; }
};

}  // namespace scela::collectives
