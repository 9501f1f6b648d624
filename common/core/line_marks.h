// What stands before a line of output: who wrote it, and when. Made where the line is read, so that
// nothing that happens to it on its way can split it from its line.
//
//   03: text     node007: text     12:34:56.789 text     node007: 12:34:56.789 text
//
// Values only: the clock is the caller's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela {

// A rank's number, as wide as the largest of so many.
std::string padded_rank(Rank rank, Rank ranks);

// Time of day as HH:MM:SS.mmm; nanoseconds since 1970 (UTC), seconds that local time is ahead.
std::string clock_text(std::int64_t unix_ns, std::int32_t ahead_s);
inline constexpr std::size_t kClockTextBytes = 12;

// Appends the bytes with `mark` before the first byte of each line; at_line_start says where the
// stream stands, before and after.
void mark_lines(std::string_view bytes, std::string_view mark, bool& at_line_start,
                std::string& out);

// The bytes with a carriage return before every end of a line.
std::string with_returns(std::string_view bytes);

}  // namespace scela
