#include "comm-channel/engine/scatter_gather.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace scela::channel {

namespace {

// The fewest bytes of a piece that the kernel copies, which checks its pages. A smaller value would
// check more pieces, at a system call each; a larger one fewer.
constexpr std::size_t kGuarded = 16384;

bool copy_piece(GuardedCopy& guarded_copy, std::byte* to, const std::byte* from,
                std::size_t bytes) {
  if (bytes >= kGuarded) return guarded_copy(to, from, bytes);
  std::memcpy(to, from, bytes);
  return true;
}

}  // namespace

template <class Byte>
std::unique_ptr<ScatterGather> ScatterGather::made_of(std::span<const std::span<Byte>> pieces,
                                                      std::size_t bytes) noexcept try {
  auto made = std::make_unique<ScatterGather>();
  made->pieces_.reserve(pieces.size());
  for (const std::span<Byte> piece : pieces)
    if (!piece.empty())
      made->pieces_.emplace_back(const_cast<std::byte*>(piece.data()), piece.size());
  made->memory_.reset(new std::byte[bytes]);
  made->bytes_ = bytes;
  return made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

std::unique_ptr<ScatterGather> ScatterGather::of(std::span<const std::span<const std::byte>> pieces,
                                                 std::size_t bytes) noexcept {
  return made_of(pieces, bytes);
}

std::unique_ptr<ScatterGather> ScatterGather::of(std::span<const std::span<std::byte>> pieces,
                                                 std::size_t bytes) noexcept {
  return made_of(pieces, bytes);
}

bool ScatterGather::gather(GuardedCopy& guarded_copy) {
  std::byte* to = memory_.get();
  for (const std::span<std::byte> piece : pieces_) {
    if (!copy_piece(guarded_copy, to, piece.data(), piece.size())) return false;
    to += piece.size();
  }
  return true;
}

bool ScatterGather::scatter(GuardedCopy& guarded_copy, std::size_t bytes) {
  const std::byte* from = memory_.get();
  for (const std::span<std::byte> piece : pieces_) {
    const std::size_t size = std::min(piece.size(), bytes);
    if (size == 0) break;
    if (!copy_piece(guarded_copy, piece.data(), from, size)) return false;
    from += size;
    bytes -= size;
  }
  return true;
}

}  // namespace scela::channel
