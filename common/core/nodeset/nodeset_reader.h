// Reads the operands and operators of a node set text one after the other (grammar in nodeset.h).
// Private to nodeset*.cpp. The reader checks each operand alone, including the limits on one
// operand. Its caller decides what the operators mean. A reader holds views of the text, which must
// outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/nodeset/nodeset.h"
#include "common/core/nodeset/nodeset_index.h"
#include "common/core/result.h"

namespace scela::nodeset {

// unite: "," or blank space. subtract: "!". intersect: "&". differ: "^", names in one of the two
// only.
enum class Operator { unite, subtract, intersect, differ };

// The numbers first, first + step, ... up to `last`.
struct Range {
  std::uint64_t first;
  std::uint64_t last;   // >= first
  std::uint64_t step;   // >= 1
  std::size_t padding;  // width of every number; 0: as needed
};

// A stretch of literal text, and the bracket that follows it, if any.
struct Piece {
  std::string_view literal;
  std::vector<Range> ranges;
};

// An operand, and the operator in front of it.
struct Term {
  Operator op = Operator::unite;  // joins all before; the first: unite
  std::size_t position = 0;       // offset of the operand in the text
  std::vector<Piece> pieces;

  // Returns true if the term is one name without a bracket.
  bool plain() const { return pieces.size() == 1 && pieces[0].ranges.empty(); }
  // Returns for each bracket its numbers, as keys (nodeset_index.h), in written order.
  std::vector<std::vector<IndexKey>> lists() const;
  // Calls `sink(name)` for every name in written order. The rightmost bracket turns fastest.
  template <class Sink>
  void for_each_name(Sink&& sink) const;
};

// The position in a text that is being read.
class Reader {
 public:
  // `max_nodes` is the largest number of names that one operand may make.
  Reader(std::string_view text, std::size_t max_nodes) : text_(text), max_nodes_(max_nodes) {}

  // Fills `term` with the next term. Returns false at the end of the text, and an error (kind
  // usage) if the text is malformed or a limit is exceeded.
  Result<bool> next(Term& term);
  // Returns an error about the character at offset `position`, which the error's text counts from
  // 1.
  Error error_at(std::size_t position, std::string_view why, std::string hint = "") const;

 private:
  bool at_end() const { return position_ == text_.size(); }
  // Returns the next character, or 0 at the end.
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  // Moves position_ behind blanks.
  void skip_blanks();
  // These read from position_ on and move it behind what they have read. `bracket` is the position
  // of the open '[', for errors.
  Result<void> read_operand(Term& term);
  Result<void> read_literal(Term& term);
  Result<void> read_bracket(std::vector<Range>& ranges);
  Result<Range> read_range(std::size_t bracket);
  Result<std::string_view> read_number(std::size_t bracket);
  // Returns an error if the term makes too many names, or names that are too long.
  Result<void> check_limits(const Term& term) const;

  std::string_view text_;
  std::uint64_t max_nodes_;
  std::size_t position_ = 0;
  bool begun_ = false;
};

template <class Sink>
void Term::for_each_name(Sink&& sink) const {
  const std::vector<std::vector<IndexKey>> keys = lists();
  std::vector<std::size_t> turn(keys.size(), 0);
  std::string name;
  for (bool more = true; more;) {
    name.clear();
    std::size_t bracket = 0;
    for (const Piece& piece : pieces) {
      name += piece.literal;
      if (piece.ranges.empty()) continue;
      append_digits(name, keys[bracket][turn[bracket]]);
      ++bracket;
    }
    sink(name);
    more = false;
    for (std::size_t i = keys.size(); i-- > 0 && !more;) {
      more = ++turn[i] < keys[i].size();
      if (!more) turn[i] = 0;
    }
  }
}

}  // namespace scela::nodeset
