// The RunBuffers of a run say where the blocks of its list are: the layout, the address of each
// space (input, output, scratch), and the memory of the run's own. They pack, copy and reduce
// blocks. A BoundCall has two of them, for the call and for its prelude. One thread at a time uses
// them.
//
// A sequence of blocks is a "run of blocks" if each begins where the one before it ends. Other
// blocks are packed into one piece of staging memory before they are sent, and unpacked after they
// are received.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "collectives/core/block_layout.h"
#include "collectives/executors/run/reduction.h"
#include "collectives/executors/run/run_plan.h"

namespace scela::collectives {

// Memory that is kept for the next use, and grows if more is needed. It begins at a multiple of 64
// bytes.
class Memory {
 public:
  // Returns the address of at least `bytes` bytes. If the memory has to grow, its contents are
  // lost. Throws std::bad_alloc.
  std::byte* reserve(std::uint64_t bytes);
  // Returns the address that reserve() returned last; null before.
  std::byte* data() const { return lines_ ? lines_[0].bytes : nullptr; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> lines_;
  std::uint64_t count_ = 0;
};

class RunBuffers {
 public:
  // Copies the layout, which says the offset and size of each block. Throws std::bad_alloc.
  void set_layout(const Layout& layout) { layout_ = layout; }
  const Layout& layout() const { return layout_; }

  // Sets the addresses of the call's input and output; null if the list does not use them. No run
  // writes its input, since the checker refuses lists that would.
  void set_input_and_output(const std::byte* input, std::byte* output) {
    at(Space::input) =
        const_cast<std::byte*>(input);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    at(Space::output) = output;
  }
  // Sets the address of scratch, which is the caller's or own_scratch(); null if the list has none.
  void set_scratch(std::byte* scratch) { at(Space::scratch) = scratch; }
  // Returns the address of a space, or null.
  std::byte* space(Space space) const { return spaces_[static_cast<std::size_t>(space)]; }

  // Returns scratch of the run's own, as large as the layout says. set_scratch() makes it the one
  // in use. Throws std::bad_alloc.
  std::byte* own_scratch() { return scratch_.reserve(layout_.of(Space::scratch).end()); }
  // Reserves what stage() returns while the plan is run. Throws std::bad_alloc.
  void reserve_staging(const Plan& plan);
  // Returns at least so many bytes for an executor that stages by itself. Earlier contents are
  // lost. Throws std::bad_alloc.
  std::byte* own_staging(std::uint64_t bytes) { return staging_.reserve(bytes); }
  // Returns the next `bytes` bytes of the memory that reserve_staging() has reserved.
  std::byte* stage(std::uint64_t bytes);
  // Frees all that stage() has returned: the next stage() returns the first bytes again.
  void reset_staging() { staged_ = 0; }

  // Returns the sum of the blocks' sizes in bytes, whether they are a run of blocks or not.
  std::uint64_t bytes_of(const Blocks& blocks) const {
    return layout_.of(blocks.space).total(blocks.first, blocks.count);
  }
  // Returns true if the blocks are a run of blocks.
  bool is_run(const Blocks& blocks) const {
    return layout_.of(blocks.space).is_run(blocks.first, blocks.count);
  }
  // Returns the address of the first block, or null if there is no block.
  std::byte* first_of(const Blocks& blocks) const {
    return blocks.count == 0 ? nullptr : block(blocks.space, blocks.first);
  }
  // Copies these blocks, in order, to the contiguous memory `to`, which has room for
  // bytes_of(from).
  void pack(const Blocks& from, std::byte* to) const;
  // Copies contiguous bytes to these blocks, in order.
  void unpack(const std::byte* from, const Blocks& to) const;
  // Carries out a copy: copies the bytes of step.from to step.to.
  void copy(const Plan::Step& step) const;
  // Carries out a reduce: combines step.from and step.to into step.to.
  void reduce(const Plan::Step& step, const Reduction& reduction) const;

 private:
  std::byte*& at(Space space) { return spaces_[static_cast<std::size_t>(space)]; }
  // Returns the address of a block, or null if its space has none.
  std::byte* block(Space space, std::uint32_t block) const {
    std::byte* const base = this->space(space);
    return base == nullptr ? nullptr : base + layout_.of(space).offset(block);
  }
  // Calls act(from, to, bytes) for each pair of pieces that are contiguous on both sides.
  template <class Act>
  void for_pieces(const Blocks& from, const Blocks& to, Act act) const;

  Layout layout_;
  std::array<std::byte*, 3> spaces_{};  // indexed by Space
  Memory scratch_;                      // used if the call gives no scratch
  Memory staging_;                      // for blocks not in one piece
  std::uint64_t staged_ = 0;            // bytes that stage() has returned
};

}  // namespace scela::collectives
