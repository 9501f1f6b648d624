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

  // Returns room in the last block, or in a new one. It stays valid as long as its block.
  char* take(std::size_t bytes);
  // Returns the blocks, and begins anew without any. The caller copies what it still uses into room
  // that it takes now, and then lets the old blocks go.
  Blocks begin_anew();
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  // Returns the bytes of all blocks: those that were taken, and room for more.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  Blocks blocks_;
  char* free_ = nullptr;  // the unused end of the last block
  std::size_t free_bytes_ = 0;
  std::size_t next_block_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t taken_bytes_ = 0;
};

}  // namespace scela::cache
