// Packs pieces of a fence into fewer bytes (LZ4). A piece is packed where it begins its way, once
// and not at every hop. nla/core/kvs/collectives.h uses this. Pure functions, for any thread.
//
// Ranks publish text, often hexadecimal, and much of it is equal for all: 144 pairs of 128 MPICH
// ranks shrink to a fifth, at 3 GB/s (docs/results/pmi.md, "Packing of pairs").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace scela::nla {

// A piece of at least this many bytes is packed. Packing then costs less than sending the saved
// bytes at 1 GB/s, and so less than encrypting them. A smaller value would spend time for little. A
// larger value would send bytes that need not travel.
inline constexpr std::size_t kPackFrom = 2048;

// packed := size:varint, an LZ4 block of that many bytes
// Returns an empty string if packing saves too little or `plain` is no piece.
std::string pack(std::string_view plain);

// Returns std::nullopt if the bytes are not packed ones, or would be more than a piece: what is
// passed on unpacked must fit a frame.
std::optional<std::string> unpack(std::string_view packed);

}  // namespace scela::nla
