// The mark before a line of output, which says which rank or node wrote the line, and when
// (--label, --timestamp). The agent makes the mark where it reads the rank's output, so that
// nothing on the line's way to scela-run can split the two. nla/ makes marks; launcher/ completes
// lines that lack one.
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

// Returns a rank's number as text, padded with zeros to the width of the largest number in a job of
// `ranks` ranks: "03" of 12 ranks.
std::string padded_rank(Rank rank, Rank ranks);

// Returns a time of day as HH:MM:SS.mmm, kClockTextBytes bytes. Takes nanoseconds since 1970 (UTC),
// and the seconds that local time is ahead of UTC.
std::string clock_text(std::int64_t unix_ns, std::int32_t ahead_s);
inline constexpr std::size_t kClockTextBytes = 12;

// Appends the bytes to `out`, with `mark` before the first byte of each line. The caller keeps
// `at_line_start` from call to call: it says whether the stream is at the start of a line. It is
// true for a new stream.
void mark_lines(std::string_view bytes, std::string_view mark, bool& at_line_start,
                std::string& out);

// Returns the bytes with a carriage return before every newline, for a terminal in raw mode.
std::string with_returns(std::string_view bytes);

}  // namespace scela
