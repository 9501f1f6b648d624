// The pieces of a message of several pieces, and the memory in which the message is whole: a send
// copies its pieces there when it begins, and a receive copies them from there when it completes.
// An operation owns it (comm-channel/engine/operation.h).
//
// Only one thread at a time may call it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "comm-channel/engine/guarded_copy.h"

namespace scela::channel {

class ScatterGather {
 public:
  // The pieces have `bytes` bytes together. Returns null if there is no memory.
  template <class Byte>
  static std::unique_ptr<ScatterGather> of(std::span<const std::span<Byte>> pieces,
                                           std::size_t bytes) noexcept;

  // Returns the memory of the whole message.
  std::span<std::byte> whole() const { return {memory_.get(), bytes_}; }
  // These return false if a long piece is unmapped or may not be written. A short one is the
  // program's own SIGSEGV, as a short message is.
  //
  // Copies the pieces of a send into the whole.
  bool gather(GuardedCopy& guarded_copy);
  // Copies the first bytes of the whole into the pieces of a receive.
  bool scatter(GuardedCopy& guarded_copy, std::size_t bytes);

 private:
  // The fewest bytes of a piece that the kernel copies, which checks its pages. A smaller value
  // would check more pieces, at a system call each; a larger one fewer.
  static constexpr std::size_t kGuarded = 16384;

  static bool copy(GuardedCopy& guarded_copy, std::byte* to, const std::byte* from,
                   std::size_t bytes) {
    if (bytes >= kGuarded) return guarded_copy(to, from, bytes);
    std::memcpy(to, from, bytes);
    return true;
  }

  std::vector<std::span<std::byte>> pieces_;  // without empty ones; a send only reads them
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
};

template <class Byte>
std::unique_ptr<ScatterGather> ScatterGather::of(std::span<const std::span<Byte>> pieces,
                                                 std::size_t bytes) noexcept try {
  auto made = std::make_unique<ScatterGather>();
  made->pieces_.reserve(pieces.size());
  for (const std::span<Byte> piece : pieces)
    if (!piece.empty())
      made->pieces_.emplace_back(const_cast<std::byte*>(piece.data()), piece.size());
  made->memory_.reset(new (std::nothrow) std::byte[bytes]);
  if (!made->memory_) return nullptr;
  made->bytes_ = bytes;
  return made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

inline bool ScatterGather::gather(GuardedCopy& guarded_copy) {
  std::byte* to = memory_.get();
  for (const std::span<std::byte> piece : pieces_) {
    if (!copy(guarded_copy, to, piece.data(), piece.size())) return false;
    to += piece.size();
  }
  return true;
}

inline bool ScatterGather::scatter(GuardedCopy& guarded_copy, std::size_t bytes) {
  const std::byte* from = memory_.get();
  for (const std::span<std::byte> piece : pieces_) {
    const std::size_t size = std::min(piece.size(), bytes);
    if (size == 0) break;
    if (!copy(guarded_copy, piece.data(), from, size)) return false;
    from += size;
    bytes -= size;
  }
  return true;
}

}  // namespace scela::channel
