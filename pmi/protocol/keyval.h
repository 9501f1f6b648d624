// The line grammar of PMI-1: each message is one line of "key=value" tuples separated by spaces.
// The PMI-1 session, the greeting and singinit use it.
//
//   message = tuple *(SP tuple)          tuple = key ["=" value]
//
// Parsing is tolerant, as the RFC of the protocol asks (flux-framework/rfc spec_13, "Wire
// Protocol"). It accepts any order, extra spaces, unknown keys and keys without a value. If a key
// is repeated, its first value counts. A value ends at the next space, except free text, which
// extends to the end of the line: `value=` after cmd, kvsname and key, and `message=` after cmd and
// exitcode. Formatting is strict: the callers of LineWriter put no space inside a value, since
// MPICH's client cuts the value there.
//
// Knows no command and no state; for any thread. Nothing is copied: a Line borrows from the text
// that it was parsed from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/result.h"

namespace scela::pmi {

// The tuples of one line. It refers to the text that parse_line() was given.
class Line {
 public:
  // Returns the first value of the key, which may be empty. Returns std::nullopt if the line does
  // not have the key.
  std::optional<std::string_view> find(std::string_view key) const;
  // Returns all tuples in the order in which they came.
  const std::vector<std::pair<std::string_view, std::string_view>>& tuples() const {
    return tuples_;
  }
  // Returns true if the line was blank.
  bool empty() const { return tuples_.empty(); }

 private:
  friend Result<Line> parse_line(std::string_view text);
  std::vector<std::pair<std::string_view, std::string_view>> tuples_;
};

// Parses `text`, one line without its newline. A blank line gives an empty Line. Returns an error
// (protocol) if the line is longer than kMaxLine, holds a control character or has a tuple without
// a key ("=x").
Result<Line> parse_line(std::string_view text);

// Parses a decimal integer with an optional sign and nothing after it. Returns std::nullopt if the
// text is something else or is out of the range of an int.
std::optional<int> parse_int(std::string_view text);

// Builds an answer: LineWriter("put_result").add("rc", 0).text() returns "cmd=put_result rc=0\n".
class LineWriter {
 public:
  explicit LineWriter(std::string_view command) : text_("cmd=") { text_ += command; }
  // Append a tuple. A text must hold neither a newline nor, unless it comes last, a space.
  LineWriter& add(std::string_view key, std::string_view value);
  LineWriter& add(std::string_view key, long long value);
  // Returns the line with its newline.
  std::string text() const { return text_ + '\n'; }

 private:
  std::string text_;
};

// Keys that begin with this prefix belong to the launcher, in PMI-1 and PMI-2.
inline constexpr std::string_view kReservedPrefix = "PMI_";

// Returns the error codes of `count` ranks that were all started, such as "0,0,0". Returns an empty
// string if the text needs more than `most` bytes.
std::string zeros(std::uint64_t count, std::size_t most);

// Returns free text as one word of at most 200 characters: each space or control character becomes
// '_'.
std::string as_word(std::string_view text);

// Returns the first 80 bytes of a line, for an error message. Unprintable bytes become \xNN, and
// "..." marks a longer line.
std::string excerpt(std::string_view text);

}  // namespace scela::pmi
