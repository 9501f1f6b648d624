// The buffer that a message of several pieces has as a whole, and what is wrong with the pieces.
// Channel::State uses it for sends and receives, and Channel::imrecv() for probed messages. The
// functions keep no state, so any thread may call them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "comm-channel/engine/scatter_gather.h"
#include "comm-channel/include/scela/status.h"
#include "common/core/text.h"

namespace scela::channel {

// Returns an error of the program's call. `peer` is the rank that it is about; -1: none.
inline Status call_error(Code code, std::string text, int peer = -1) {
  return {code, peer, std::move(text)};
}

// Returns false if the address is null although there are bytes.
template <class Byte>
bool is_buffer(std::span<Byte> bytes) {
  return bytes.data() != nullptr || bytes.empty();
}

// The bytes of a message of several pieces: where the pieces lie, if they follow each other,
// otherwise those of `whole`. If the pieces are wrong, `wrong` says why.
template <class Byte>
struct Gathered {
  Status wrong;
  std::span<Byte> bytes;
  std::unique_ptr<ScatterGather> whole;
};

// Returns how many bytes the pieces have together. If a piece is wrong, sets `wrong` and returns 0.
// `tried` begins its text, for example "send to rank "; the rank follows.
template <class Byte>
std::size_t length_of(std::span<const std::span<Byte>> pieces, const char* tried, int rank,
                      Status& wrong) {
  constexpr std::size_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!is_buffer(pieces[i])) {
      wrong = call_error(Code::bad_buffer,
                         cat(tried, rank, ": the address of piece ", i, ", of ", pieces[i].size(),
                             " bytes, is null"),
                         rank);
      return 0;
    }
    if (pieces[i].size() > kMaxBytes - bytes) {
      wrong = call_error(Code::bad_count,
                         cat(tried, rank, ": its ", pieces.size(), " pieces have more than ",
                             kMaxBytes, " bytes together"),
                         rank);
      return 0;
    }
    bytes += pieces[i].size();
  }
  return bytes;
}

// Returns true if each piece that has bytes begins where the one before it ends.
template <class Byte>
bool are_contiguous(std::span<const std::span<Byte>> pieces) {
  const std::byte* end = nullptr;
  for (const std::span<Byte> piece : pieces) {
    if (piece.empty()) continue;
    if (end != nullptr && piece.data() != end) return false;
    end = piece.data() + piece.size();
  }
  return true;
}

// Returns the buffer of a message with these pieces: the program's own if they follow each other,
// otherwise one that is allocated here. `tried` and `rank` are those of length_of().
template <class Byte>
Gathered<Byte> gathered(std::span<const std::span<Byte>> pieces, const char* tried, int rank) {
  Gathered<Byte> made;
  const std::size_t bytes = length_of(pieces, tried, rank, made.wrong);
  if (bytes == 0) return made;
  if (are_contiguous(pieces)) {
    const auto first =
        std::ranges::find_if(pieces, [](std::span<Byte> one) { return !one.empty(); });
    made.bytes = {first->data(), bytes};
    return made;
  }
  made.whole = ScatterGather::of(pieces, bytes);
  if (made.whole == nullptr)
    made.wrong = call_error(Code::resources,
                            cat(tried, rank, " with ", pieces.size(),
                                " pieces: there is no memory for ", bytes, " bytes"),
                            rank);
  else
    made.bytes = made.whole->whole();
  return made;
}

}  // namespace scela::channel
