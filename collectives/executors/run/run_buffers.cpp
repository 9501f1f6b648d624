#include "collectives/executors/run/run_buffers.h"

#include <algorithm>
#include <cstring>

namespace scela::collectives {

std::byte* Memory::reserve(std::uint64_t bytes) {
  const std::uint64_t lines = bytes / sizeof(Line) + (bytes % sizeof(Line) != 0 ? 1 : 0);
  if (lines > count_) {
    lines_.reset();
    count_ = 0;
    lines_ = std::make_unique_for_overwrite<Line[]>(lines);
    count_ = lines;
  }
  return data();
}

void RunBuffers::reserve_staging(const Plan& plan) {
  const bool all_runs = layout_.of(Space::input).is_packed() &&
                        layout_.of(Space::output).is_packed() &&
                        layout_.of(Space::scratch).is_packed();
  if (all_runs) return;
  std::uint64_t needed = 0;
  for (const std::uint32_t number : plan.begun_by()) {
    const Plan::Step& step = plan.steps()[number];
    const Blocks& blocks = step.kind == Kind::send ? step.from : step.to;
    if (!is_run(blocks)) needed += bytes_of(blocks);
  }
  staging_.reserve(needed);
}

std::byte* RunBuffers::stage(std::uint64_t bytes) {
  std::byte* const begin = staging_.data() == nullptr ? nullptr : staging_.data() + staged_;
  staged_ += bytes;
  return begin;
}

void RunBuffers::pack(const Blocks& from, std::byte* to) const {
  for (std::uint32_t i = 0; i < from.count; ++i) {
    const std::uint64_t bytes = layout_.of(from.space).size(from.first + i);
    if (bytes != 0) std::memcpy(to, block(from.space, from.first + i), bytes);
    to += bytes;
  }
}

void RunBuffers::unpack(const std::byte* from, const Blocks& to) const {
  for (std::uint32_t i = 0; i < to.count; ++i) {
    const std::uint64_t bytes = layout_.of(to.space).size(to.first + i);
    if (bytes != 0) std::memcpy(block(to.space, to.first + i), from, bytes);
    from += bytes;
  }
}

// Calls `act` for each pair of contiguous pieces. If both sides are contiguous there is one; else
// there are as many as block borders on either side require.
template <class Act>
void RunBuffers::for_pieces(const Blocks& from, const Blocks& to, Act act) const {
  if (is_run(from) && is_run(to)) {
    const std::uint64_t bytes = std::min(bytes_of(from), bytes_of(to));
    if (bytes != 0) act(first_of(from), first_of(to), bytes);
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
      act(block(from.space, from.first + i) + left_done, block(to.space, to.first + j) + right_done,
          bytes);
    left_done = bytes == left_bytes ? 0 : left_done + bytes;
    right_done = bytes == right_bytes ? 0 : right_done + bytes;
    if (left_done == 0 && bytes == left_bytes) ++i;
    if (right_done == 0 && bytes == right_bytes) ++j;
  }
}

void RunBuffers::copy(const Plan::Step& step) const {
  for_pieces(step.from, step.to, [](const std::byte* from, std::byte* to, std::uint64_t bytes) {
    if (from != to) std::memmove(to, from, bytes);
  });
}

void RunBuffers::reduce(const Plan::Step& step, const Reduction& reduction) const {
  for_pieces(step.from, step.to, [&](const std::byte* from, std::byte* to, std::uint64_t bytes) {
    const std::byte* const left = step.from_right ? to : from;
    const std::byte* const right = step.from_right ? from : to;
    reduction.combine(reduction.state, left, right, to, bytes / reduction.element_bytes);
  });
}

}  // namespace scela::collectives
