// The memory of a table's keys and values: blocks that grow with what is taken from them. Store has
// one. Bytes that are no longer used stay taken until the table copies what it still uses into new
// blocks. One thread at a time uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace scela::cache {

class ByteBlocks {
 public:
  using Blocks = std::vector<std::unique_ptr<char[]>>;

  // Returns the address of `bytes` bytes that are not initialized, in the last block or in a new
  // one. They are not aligned, and stay valid until their block is freed.
  char* take(std::size_t bytes);
  // Moves all blocks out to the caller; this object then has none. The caller copies the bytes that
  // it still uses into room that it takes now, and then destroys the returned blocks.
  Blocks begin_anew();
  // Returns the sum of the bytes that take() was asked for, used or not, since begin_anew().
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  // Returns the bytes of all blocks: those that were taken, and room for more.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  Blocks blocks_;
  char* free_ = nullptr;        // the unused end of the last block
  std::size_t free_bytes_ = 0;  // at free_
  std::size_t next_block_ = 0;  // bytes of the last block, unless larger
  std::uint64_t held_bytes_ = 0;
  std::uint64_t taken_bytes_ = 0;
};

}  // namespace scela::cache
