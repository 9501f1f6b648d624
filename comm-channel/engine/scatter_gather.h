// The pieces of a message of several pieces, and the memory in which the message is whole: a send
// copies its pieces there when it begins, and a receive copies them from there when it completes.
// An operation owns it (comm-channel/engine/operation.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm-channel/engine/guarded_copy.h"

namespace scela::channel {

class ScatterGather {
 public:
  // Returns null if there is no memory. The pieces have `bytes` bytes together.
  static std::unique_ptr<ScatterGather> of(std::span<const std::span<const std::byte>> pieces,
                                           std::size_t bytes) noexcept;
  static std::unique_ptr<ScatterGather> of(std::span<const std::span<std::byte>> pieces,
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
  template <class Byte>
  static std::unique_ptr<ScatterGather> made_of(std::span<const std::span<Byte>> pieces,
                                                std::size_t bytes) noexcept;

  std::vector<std::span<std::byte>> pieces_;  // without empty ones; a send only reads them
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace scela::channel
