// The line grammar of PMI-1: one message a line, "key=value" tuples separated by spaces.
//
//   message = tuple *(SP tuple)          tuple = key ["=" value]
//
// Parsing is tolerant as the RFC of the protocol asks (flux-framework/rfc spec_13, "Wire
// Protocol"): any order, extra spaces, unknown keys, keys without a value; of a repeated key the
// first counts. A value ends at the next space, except that free text may hold spaces where it
// comes last: `value=` once cmd, kvsname and key were read, `message=` once cmd and exitcode were.
// Formatting is strict: what goes out holds no space inside a value, since MPICH's client cuts
// there.
//
// Knows no command and no state. Nothing is copied: a Line borrows from the text it was parsed
// from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/result.h"

namespace scela::pmi {

class Line {
 public:
  std::optional<std::string_view> find(std::string_view key) const;
  const std::vector<std::pair<std::string_view, std::string_view>>& tuples() const {
    return tuples_;
  }
  bool empty() const { return tuples_.empty(); }

 private:
  friend Result<Line> parse_line(std::string_view text);
  std::vector<std::pair<std::string_view, std::string_view>> tuples_;
};

// `text` is one line without its newline. A blank line gives an empty Line.
// Error (protocol): longer than kMaxLine, a control character, a tuple without a key ("=x").
Result<Line> parse_line(std::string_view text);

// A decimal integer with an optional sign and nothing after it, in the range of an int.
std::optional<int> parse_int(std::string_view text);

// Builds an answer: LineWriter("put_result").add("rc", 0).text() is "cmd=put_result rc=0\n".
class LineWriter {
 public:
  explicit LineWriter(std::string_view command) : text_("cmd=") { text_ += command; }
  LineWriter& add(std::string_view key, std::string_view value);
  LineWriter& add(std::string_view key, long long value);
  std::string text() const { return text_ + '\n'; }

 private:
  std::string text_;
};

// Keys that begin so are the launcher's, in PMI-1 and PMI-2.
inline constexpr std::string_view kReservedPrefix = "PMI_";

// "0,0,0": what became of so many ranks that were started. Empty if it takes more than `most`.
std::string zeros(std::uint64_t count, std::size_t most);

// Free text as one word: every space and control character becomes '_'; at most 200 characters.
std::string as_word(std::string_view text);

// At most 80 characters of a line for an error message, unprintable bytes as \xNN.
std::string excerpt(std::string_view text);

}  // namespace scela::pmi
