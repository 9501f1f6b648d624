// Payloads that differ and need no memory of their own: each is a window into one random buffer.
// Its offset follows from the payload's name, so each part of the simulator can compute the
// expected bytes.
#pragma once

#include <cstdint>

#include "common/core/chunk.h"

namespace scela::sim {

inline constexpr std::uint64_t kPattern = std::uint64_t{2} * 1024 * 1024;

// Spreads its arguments over 64 bits (the finalizer of splitmix64).
std::uint64_t mix(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

// The payload called `name`; requires size <= kPattern / 2.
Chunk payload(std::uint64_t name, std::size_t size);

// Bytes [offset, offset + size) of the endless stream called `name`, or fewer: never across the
// buffer's end. At least one byte if size > 0.
Chunk stream_bytes(std::uint64_t name, std::uint64_t offset, std::size_t size);
// Returns true if the stream has `bytes` at `offset`.
bool stream_has(std::uint64_t name, std::uint64_t offset, std::string_view bytes);

}  // namespace scela::sim
