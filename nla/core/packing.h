// Pieces of a fence in fewer bytes (LZ4): where a piece begins its way, once, not at every hop.
//
// What ranks publish is text, often hexadecimal, much of it the same for all: 144 pairs of 128
// MPICH ranks shrink to a fifth, at 3 GB/s (docs/benchmarks.md, "Packing").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace scela::nla {

// Bytes from which on it is tried. What it saves then costs less than sending it at 1 GB/s, so
// less than to encrypt it. Smaller: time for little; larger: bytes that need not travel.
inline constexpr std::size_t kPackFrom = 2048;

// packed := size:varint, an LZ4 block of that many bytes. Empty: not worth it, or no piece.
std::string pack(std::string_view plain);

// None: those are no packed bytes, or would be more than a piece: what is passed on unpacked must
// fit a frame.
std::optional<std::string> unpack(std::string_view packed);

}  // namespace scela::nla
