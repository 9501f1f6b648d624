// The part of Run that finds, packs, copies and reduces a run's bytes.
#include <algorithm>
#include <cstring>

#include "collectives/executors/run.h"

namespace scela::collectives {

int Run::peer_of(int rank) const {
  return call_.peers.empty() ? rank : call_.peers[static_cast<std::size_t>(rank)];
}

std::uint64_t Run::bytes_of(const Blocks& blocks) const {
  return layout_.of(blocks.space).total(blocks.first, blocks.count);
}

bool Run::is_run(const Blocks& blocks) const {
  return layout_.of(blocks.space).is_run(blocks.first, blocks.count);
}

std::byte* Run::block_at(Space space, std::uint32_t block) const {
  std::byte* const base = spaces_[static_cast<std::size_t>(space)];
  return base == nullptr ? nullptr : base + layout_.of(space).offset(block);
}

std::byte* Run::at(const Blocks& blocks) const {
  return blocks.count == 0 ? nullptr : block_at(blocks.space, blocks.first);
}

void Run::pack(const Blocks& from, std::byte* to) const {
  for (std::uint32_t i = 0; i < from.count; ++i) {
    const std::uint64_t bytes = layout_.of(from.space).size(from.first + i);
    if (bytes != 0) std::memcpy(to, block_at(from.space, from.first + i), bytes);
    to += bytes;
  }
}

void Run::unpack(const std::byte* from, const Blocks& to) const {
  for (std::uint32_t i = 0; i < to.count; ++i) {
    const std::uint64_t bytes = layout_.of(to.space).size(to.first + i);
    if (bytes != 0) std::memcpy(block_at(to.space, to.first + i), from, bytes);
    from += bytes;
  }
}

// Calls `act` for each pair of contiguous pieces. If both sides are contiguous there is one; else
// there are as many as block borders on either side require.
template <class Act>
void Run::for_pieces(const Blocks& from, const Blocks& to, Act act) const {
  if (is_run(from) && is_run(to)) {
    const std::uint64_t bytes = std::min(bytes_of(from), bytes_of(to));
    if (bytes != 0) act(at(from), at(to), bytes);
    return;
  }
  const BlockSizes& left = layout_.of(from.space);
  const BlockSizes& right = layout_.of(to.space);
  std::uint64_t left_done = 0;
  std::uint64_t right_done = 0;
  for (std::uint32_t i = 0, j = 0; i < from.count && j < to.count;) {
    const std::uint64_t left_bytes = left.size(from.first + i) - left_done;
    const std::uint64_t right_bytes = right.size(to.first + j) - right_done;
    const std::uint64_t bytes = std::min(left_bytes, right_bytes);
    if (bytes != 0)
      act(block_at(from.space, from.first + i) + left_done,
          block_at(to.space, to.first + j) + right_done, bytes);
    left_done = bytes == left_bytes ? 0 : left_done + bytes;
    right_done = bytes == right_bytes ? 0 : right_done + bytes;
    if (left_done == 0 && bytes == left_bytes) ++i;
    if (right_done == 0 && bytes == right_bytes) ++j;
  }
}

void Run::copy(const Plan::Step& step) {
  for_pieces(step.from, step.to, [](const std::byte* from, std::byte* to, std::uint64_t bytes) {
    if (from != to) std::memmove(to, from, bytes);
  });
}

void Run::reduce(const Plan::Step& step) {
  const Reduction& reduction = call_.reduction;
  for_pieces(step.from, step.to, [&](const std::byte* from, std::byte* to, std::uint64_t bytes) {
    const std::byte* const left = step.from_right ? to : from;
    const std::byte* const right = step.from_right ? from : to;
    reduction.combine(reduction.state, left, right, to, bytes / reduction.element_bytes);
  });
}

std::byte* Run::staging(std::uint64_t bytes) {
  std::byte* const begin = staging_.data() == nullptr ? nullptr : staging_.data() + staged_;
  staged_ += bytes;
  return begin;
}

}  // namespace scela::collectives
