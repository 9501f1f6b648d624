// Which bytes the blocks of a list are: said when an operation is started.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/core/task_list.h"

namespace scela::collectives {

// Where a space's blocks begin and how long they are, in bytes from the space's address.
class BlockSizes {
 public:
  // `count` blocks of `bytes` each, one behind the other.
  static BlockSizes equal(std::uint32_t count, std::uint64_t bytes);
  // `bytes` cut into `count` blocks that begin at multiples of `unit` (an element's size), as equal
  // as that allows, the larger ones first; some may be empty.
  static BlockSizes cut(std::uint64_t bytes, std::uint32_t count, std::uint64_t unit);
  // As they stand, one behind the other: for counts of their own (the v forms, in order).
  static BlockSizes packed(const std::vector<std::uint64_t>& sizes);
  // Anywhere (the v forms, with displacements). Blocks that do not touch are no run: a task that
  // names several of them is carried out in parts.
  static BlockSizes placed(std::vector<std::uint64_t> offsets, std::vector<std::uint64_t> sizes);
  // Each of the blocks of `whole` cut into `parts` as cut() does: block b becomes b * parts, ...
  static BlockSizes segmented(const BlockSizes& whole, std::uint32_t parts, std::uint64_t unit);

  std::uint32_t count() const;
  std::uint64_t offset(std::uint32_t block) const;
  std::uint64_t size(std::uint32_t block) const;
  // Of blocks that lie one behind the other.
  std::uint64_t size(std::uint32_t first, std::uint32_t count) const;
  bool is_run(std::uint32_t first, std::uint32_t count) const;
  // All lie one behind the other, so that whatever a list names is a run.
  bool is_packed() const { return packed_; }
  // Of blocks that need not lie one behind the other.
  std::uint64_t total(std::uint32_t first, std::uint32_t count) const;
  // Where the last byte of any block ends.
  std::uint64_t end() const;

 private:
  bool touch(std::uint32_t first, std::uint32_t count) const;

  std::uint32_t count_ = 0;
  bool packed_ = true;
  std::uint64_t each_ = 0;              // where all are equal
  std::vector<std::uint64_t> offsets_;  // else
  std::vector<std::uint64_t> sizes_;
};

struct Layout {
  std::array<BlockSizes, 3> spaces;  // by Space
  const BlockSizes& of(Space space) const { return spaces[static_cast<std::size_t>(space)]; }
};

}  // namespace scela::collectives
