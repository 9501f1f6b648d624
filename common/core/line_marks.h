// The mark before a line of output, which says which rank or node wrote the line, and when. The
// mark is made where the line is read, so that nothing on the line's way can split the two.
//
//   03: text     node007: text     12:34:56.789 text     node007: 12:34:56.789 text
//
// The functions compute values only; the caller reads the clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela {

// Returns a rank's number, padded with zeros to the width of the largest of `ranks` ranks.
std::string padded_rank(Rank rank, Rank ranks);

// Returns a time of day as HH:MM:SS.mmm. Takes nanoseconds since 1970 (UTC), and the seconds that
// local time is ahead.
std::string clock_text(std::int64_t unix_ns, std::int32_t ahead_s);
inline constexpr std::size_t kClockTextBytes = 12;

// Appends the bytes to `out`, with `mark` before the first byte of each line. at_line_start says
// whether the stream stands at the start of a line, before and after the call.
void mark_lines(std::string_view bytes, std::string_view mark, bool& at_line_start,
                std::string& out);

// Returns the bytes with a carriage return before the end of every line.
std::string with_returns(std::string_view bytes);

}  // namespace scela
