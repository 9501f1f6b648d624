#include "cache/byte_blocks.h"

#include <algorithm>
#include <utility>

namespace scela::cache {

namespace {

// The first block holds the pairs of one small node. Blocks double from there up to the size from
// which malloc maps each one separately, so that closing holes gives memory back.
constexpr std::size_t kFirstBlock = 1024;
constexpr std::size_t kLargestBlock = std::size_t{128} * 1024;

}  // namespace

char* ByteBlocks::take(std::size_t bytes) {
  if (bytes > free_bytes_) {
    next_block_ = std::clamp(next_block_ * 2, kFirstBlock, kLargestBlock);
    const std::size_t size = std::max(next_block_, bytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    free_ = blocks_.back().get();
    free_bytes_ = size;
    held_bytes_ += size;
  }
  char* const out = free_;
  free_ += bytes;
  free_bytes_ -= bytes;
  taken_bytes_ += bytes;
  return out;
}

ByteBlocks::Blocks ByteBlocks::begin_anew() {
  free_bytes_ = 0;
  taken_bytes_ = 0;
  held_bytes_ = 0;
  return std::exchange(blocks_, {});
}

}  // namespace scela::cache
