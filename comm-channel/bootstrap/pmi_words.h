// Encodes any bytes as short words that PMI carries: letters, digits, '-' and '_', cut into pieces.
//
//   first piece = number of pieces ":" characters      others = characters
//
// The characters are base64 with the alphabet of RFC 4648, section 5, without padding. The
// functions are pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::channel {

// to_word() encodes bytes without cutting them. from_word() returns std::nullopt if the word is not
// what to_word() returns for some bytes.
std::string to_word(std::string_view bytes);
std::optional<std::string> from_word(std::string_view word);

inline constexpr std::size_t kLeastPiece = 16;
// Returns at least one piece, each of at most `most` characters. `most` is at least kLeastPiece.
std::vector<std::string> cut(std::string_view bytes, std::size_t most);

// Returns the bytes that cut() was given. `piece(i)` returns the piece with index i, from 0, as a
// Result; it is called for each piece once, in order. Returns its error, or one of kind protocol if
// the pieces are not those of cut().
template <class Get>
Result<std::string> join(Get&& piece);

// Removes the number of pieces from the first piece and returns it, or nothing if there is none.
std::optional<std::size_t> count_of(std::string& first);

template <class Get>
Result<std::string> join(Get&& piece) {
  Result<std::string> word = piece(std::size_t{0});
  if (!word) return word;
  const auto count = count_of(*word);
  for (std::size_t i = 1; count && i < *count; ++i) {
    Result<std::string> more = piece(i);
    if (!more) return more;
    *word += *more;
  }
  auto bytes = count ? from_word(*word) : std::nullopt;
  if (!bytes) {
    return fail(Error{ErrorKind::protocol, "read a value", "", "the value is damaged",
                      "see that no other program of the job uses keys that begin with scela"});
  }
  return std::move(*bytes);
}

}  // namespace scela::channel
