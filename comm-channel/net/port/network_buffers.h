// Registered buffers of one size, allocated in blocks. Network links use them for messages and
// datagrams. Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm-channel/verbs/factory.h"
#include "common/core/result.h"

namespace scela::channel {

class Buffers {
 public:
  // `bytes` is the size of one buffer, and `access` has the flags of ibv_reg_mr. The symbols and
  // the domain must outlive this object.
  Buffers(const verbs::Symbols& symbols, const verbs::Pd& pd, std::size_t bytes, int access)
      : symbols_(symbols), pd_(pd), bytes_((bytes + 63) / 64 * 64), access_(access) {}

  std::size_t bytes() const { return bytes_; }
  // Returns the registered bytes. count() returns the number of buffers, taken or not.
  std::uint64_t registered() const { return registered_; }
  std::uint64_t count() const { return registered_ / bytes_; }
  // Returns true if all buffers are taken.
  bool empty() const { return free_.empty(); }
  // Adds `count` buffers in one block, which is registered as a whole.
  Result<void> add(std::size_t count) {
    Block block;
    block.memory = std::make_unique_for_overwrite<std::byte[]>(bytes_ * count);
    auto registered = verbs::reg_mr(symbols_, pd_, block.memory.get(), bytes_ * count, access_);
    if (!registered) return fail(std::move(registered.error()));
    block.region = std::move(*registered);
    for (std::size_t i = count; i-- > 0;)
      free_.push_back(block.memory.get() + i * bytes_);
    registered_ += bytes_ * count;
    blocks_.push_back(std::move(block));
    return {};
  }
  // Returns the buffer that came back last, or null if all are taken.
  std::byte* take() {
    if (free_.empty()) return nullptr;
    std::byte* const last = free_.back();
    free_.pop_back();
    return last;
  }
  void give_back(std::byte* bytes) { free_.push_back(bytes); }
  // Returns the lkey of a buffer, or 0 if the address is in none.
  std::uint32_t key_of(const std::byte* bytes) const {
    for (const Block& block : blocks_)
      if (!std::less<>()(bytes, block.memory.get()) &&
          std::less<>()(bytes, block.memory.get() + block.region->length))
        return block.region->lkey;
    return 0;
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    verbs::Mr region;  // destroyed before the memory
  };
  const verbs::Symbols& symbols_;
  const verbs::Pd& pd_;
  std::size_t bytes_;
  int access_;
  std::uint64_t registered_ = 0;
  std::vector<Block> blocks_;
  std::vector<std::byte*> free_;
};

}  // namespace scela::channel
