// Layouts: which bytes the blocks of a list are. The caller makes one when an operation is started.
// Executors, the checker and offload plans read it. A layout is a value.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/core/task_list.h"

namespace scela::collectives {

// The offset and size of each block of one space, in bytes from the space's address.
class BlockSizes {
 public:
  // Returns `count` blocks of `bytes` each, one behind the other.
  static BlockSizes equal(std::uint32_t count, std::uint64_t bytes);
  // Returns `bytes` cut into `count` blocks that begin at multiples of `unit`, an element's size in
  // bytes. The sizes are as equal as that allows, the larger ones first. Some may be empty.
  static BlockSizes cut(std::uint64_t bytes, std::uint32_t count, std::uint64_t unit);
  // Returns blocks of these sizes, one behind the other: for counts of their own (the v forms, in
  // order).
  static BlockSizes packed(const std::vector<std::uint64_t>& sizes);
  // Returns blocks at any offsets (the v forms, with displacements). Blocks that do not touch are
  // no run, so a task that names several of them is carried out in parts.
  static BlockSizes placed(std::vector<std::uint64_t> offsets, std::vector<std::uint64_t> sizes);
  // Returns each block of `whole` cut into `parts`, as cut() does. Block b becomes the blocks from
  // b * parts on.
  static BlockSizes segmented(const BlockSizes& whole, std::uint32_t parts, std::uint64_t unit);

  std::uint32_t count() const;
  std::uint64_t offset(std::uint32_t block) const;
  std::uint64_t size(std::uint32_t block) const;
  // Returns the size of blocks that lie one behind the other.
  std::uint64_t size(std::uint32_t first, std::uint32_t count) const;
  // Returns true if each of the blocks begins where the one before it ends.
  bool is_run(std::uint32_t first, std::uint32_t count) const;
  // Returns true if all blocks lie one behind the other, so that any range of blocks is a run.
  bool is_packed() const { return packed_; }
  // Returns the sum of the sizes of blocks that need not lie one behind the other.
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

struct Layout {
  std::array<BlockSizes, 3> spaces;  // indexed by Space
  const BlockSizes& of(Space space) const { return spaces[static_cast<std::size_t>(space)]; }
};

}  // namespace scela::collectives
