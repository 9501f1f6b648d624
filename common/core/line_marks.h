// The mark before a line of output, which says which rank or node wrote the line, and when
// (--label, --timestamp). The agent makes the mark where it reads the rank's output, so that
// nothing on the line's way to scela-run can split the two. nla/ makes marks; launcher/ completes
// lines that lack one.
//
//   03: text     node007: text     12:34:56.789 text     node007: 12:34:56.789 text
//
// The user may choose the label by a pattern with these parts: %h is the host, %n its number in the
// host list, %r the rank, %j the job, %s the stream ("out" or "err") and %% a percent sign.
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

// The labels of ranks and of hosts if the user chooses none.
inline constexpr std::string_view kLabelOfRank = "%r: ";
inline constexpr std::string_view kLabelOfHost = "%h: ";
inline constexpr std::size_t kLongestLabel = 256;  // of a pattern, in bytes

// The values that the parts of a pattern, of labels or of files, have for one stream of a rank.
struct StreamParts {
  std::string_view host;
  std::uint32_t node = 0;
  Rank rank = 0;
  Rank ranks = 1;  // in the job; gives the width of rank numbers
  std::string_view job;
  std::string_view stream;
};
// Returns what is wrong with a pattern of labels: an unknown part, a control character, or more
// than kLongestLabel bytes. The text is empty if nothing is wrong.
std::string label_fault(std::string_view pattern);
// Returns true if the labels of different ranks differ, or those of different hosts.
bool label_tells_apart(std::string_view pattern);
// Returns the pattern with these values in it. Requires that label_fault() finds no unknown part.
std::string stream_pattern_text(std::string_view pattern, const StreamParts& parts);

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
