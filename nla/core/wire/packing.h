// Packs pieces of a fence into fewer bytes (LZ4). The agent that makes a piece packs it, and the
// agents that forward it do not. nla/core/kvs/collectives.h uses this. Pure functions, for any
// thread.
//
// Ranks publish text, often hexadecimal, and much of it is equal for all: 144 pairs of 128 MPICH
// ranks shrink to a fifth, at 3 GB/s (docs/results/pmi.md, "Packing of pairs").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace scela::nla {

// In bytes. A piece of at least this size is packed. Packing then costs less than sending the saved
// bytes at 1 GB/s, and so less than encrypting them. A smaller value would spend time for little. A
// larger value would send bytes that need not travel.
inline constexpr std::size_t kPackFrom = 2048;

// Packs one piece of a message. Returns an empty string if packing saves less than an eighth, or if
// `plain` is shorter than kPackFrom or longer than kMaxPiece. The result has this form:
//   packed := size:varint, an LZ4 block that unpacks to `size` bytes
std::string pack(std::string_view plain);

// Returns the bytes that pack() was given. Returns std::nullopt if `packed` is malformed, or would
// be more than kMaxPiece bytes: what is passed on unpacked must fit a frame.
std::optional<std::string> unpack(std::string_view packed);

}  // namespace scela::nla
