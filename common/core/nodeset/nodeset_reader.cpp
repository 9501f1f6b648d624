#include "common/core/nodeset/nodeset_reader.h"

#include <algorithm>
#include <utility>

#include "common/core/nodeset/nodeset_build.h"
#include "common/core/text.h"

namespace scela::nodeset {

namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_operator(char c) {
  return c == ',' || c == '!' || c == '&' || c == '^';
}

Operator operator_of(char c) {
  switch (c) {
    case '!':
      return Operator::subtract;
    case '&':
      return Operator::intersect;
    case '^':
      return Operator::differ;
    default:
      return Operator::unite;
  }
}

std::uint64_t count_of(const Range& range) {
  return (range.last - range.first) / range.step + 1;
}

// Returns a * b, or `limit` + 1 if that is less.
std::uint64_t capped_product(std::uint64_t a, std::uint64_t b, std::uint64_t limit) {
  return a != 0 && b > limit / a ? limit + 1 : a * b;
}

bool padded(std::string_view digits) {
  return digits.size() > 1 && digits[0] == '0';
}

// Returns the text as an error shows it: one line, printable, the part around `position` if it is
// long.
std::string excerpt(std::string_view text, std::size_t position) {
  constexpr std::size_t kBefore = 24;
  constexpr std::size_t kLength = 64;
  const std::size_t begin = text.size() <= kLength || position < kBefore ? 0 : position - kBefore;
  std::string shown(text.substr(begin, kLength));
  for (char& c : shown) {
    if (is_blank(c)) c = ' ';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return cat(begin > 0 ? "..." : "", shown, begin + kLength < text.size() ? "..." : "");
}

}  // namespace

std::vector<std::vector<IndexKey>> Term::lists() const {
  std::vector<std::vector<IndexKey>> lists;
  for (const Piece& piece : pieces) {
    if (piece.ranges.empty()) continue;
    std::vector<IndexKey>& list = lists.emplace_back();
    for (const Range& range : piece.ranges) {
      const std::uint64_t count = count_of(range);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t value = range.first + i * range.step;
        list.push_back(key_of({value, range.padding != 0 ? range.padding : digits_in(value)}));
      }
    }
  }
  return lists;
}

Error Reader::error_at(std::size_t position, std::string_view why, std::string hint) const {
  return {ErrorKind::usage, cat("read node set '", excerpt(text_, position), "'"), "",
          cat("character ", position + 1, ": ", why), std::move(hint)};
}

void Reader::skip_blanks() {
  while (!at_end() && is_blank(text_[position_]))
    ++position_;
}

Result<bool> Reader::next(Term& term) {
  const auto missing = [&](std::size_t position, std::string_view side) {
    return fail(error_at(position, cat("operator '", text_[position], "' has no nodes ", side)));
  };
  skip_blanks();
  const std::size_t at = position_;
  term.op = Operator::unite;
  if (at_end()) return false;
  if (is_operator(text_[at])) {
    if (!begun_) return missing(at, "before it");
    term.op = operator_of(text_[at]);
    ++position_;
    skip_blanks();
    if (at_end() || is_operator(text_[position_])) return missing(at, "after it");
  }
  begun_ = true;
  if (auto read = read_operand(term); !read) return fail(std::move(read.error()));
  return true;
}

Result<void> Reader::read_operand(Term& term) {
  term.position = position_;
  term.pieces.clear();
  // True if the current run of digits has a bracket already.
  bool bracket_in_number = false;
  while (!at_end() && !is_blank(text_[position_]) && !is_operator(text_[position_])) {
    if (auto read = read_literal(term); !read) return read;
    Piece& piece = term.pieces.back();
    if (!std::all_of(piece.literal.begin(), piece.literal.end(), is_digit)) {
      bracket_in_number = false;
    }
    if (peek() != '[') break;
    if (bracket_in_number) {
      return fail(error_at(position_, "a second bracket in the same number",
                           "put a letter or a dash between the two"));
    }
    if (auto read = read_bracket(piece.ranges); !read) return read;
    bracket_in_number = true;
  }
  return check_limits(term);
}

Result<void> Reader::read_literal(Term& term) {
  const std::size_t begin = position_;
  for (; !at_end(); ++position_) {
    const char c = text_[position_];
    if (surely_allowed(c)) continue;
    if (c == '[' || is_blank(c) || is_operator(c)) break;
    if (c == ']') return fail(error_at(position_, "']' closes no '['"));
    if (const char* why = refusal_of(c, position_ == term.position)) {
      return fail(error_at(position_, why));
    }
  }
  term.pieces.push_back({text_.substr(begin, position_ - begin), {}});
  return {};
}

Result<void> Reader::read_bracket(std::vector<Range>& ranges) {
  const std::size_t bracket = position_;
  std::uint64_t nodes = 0;
  do {
    ++position_;  // '[' or ','
    skip_blanks();
    const std::size_t begin = position_;
    const Result<Range> range = read_range(bracket);
    if (!range) return fail(range.error());
    nodes += std::min(count_of(*range), max_nodes_ + 1);
    if (nodes > max_nodes_) {
      return fail(error_at(begin, cat("more nodes than the limit of ", max_nodes_)));
    }
    ranges.push_back(*range);
  } while (peek() == ',');
  ++position_;  // ']': read_range fails without one
  return {};
}

// Reads one item with the blanks after it, and stops at the ',' or ']' behind it.
Result<Range> Reader::read_range(std::size_t bracket) {
  const std::size_t begin = position_;
  const Result<std::string_view> first = read_number(bracket);
  if (!first) return fail(first.error());
  Range range{value_of(*first), value_of(*first), 1, padded(*first) ? first->size() : 0};
  if (peek() == '-') {
    ++position_;
    const Result<std::string_view> last = read_number(bracket);
    if (!last) return fail(last.error());
    if ((padded(*first) || padded(*last)) && first->size() != last->size()) {
      return fail(error_at(
          begin, cat("the zero-padded range ", *first, "-", *last, " has ends of different width"),
          "write both ends with the same number of digits"));
    }
    range.last = value_of(*last);
    if (range.last < range.first) {
      return fail(error_at(begin, cat("range ", *first, "-", *last, " runs backwards")));
    }
    if (peek() == '/') {
      const std::size_t slash = position_++;
      const Result<std::string_view> step = read_number(bracket);
      if (!step) return fail(step.error());
      range.step = value_of(*step);
      if (range.step == 0) return fail(error_at(slash, "a step of zero never ends"));
    }
  } else if (peek() == '/') {
    return fail(error_at(position_, cat("a step needs a range, as in ", *first, "-9/2")));
  }
  if (at_end()) return fail(error_at(bracket, "'[' is never closed"));
  if (peek() != ',' && peek() != ']') {
    return fail(error_at(position_, cat("'", excerpt(text_.substr(position_, 1), 0),
                                        "' cannot follow a number in a range")));
  }
  return range;
}

// Reads digits, with the blanks before and after them.
Result<std::string_view> Reader::read_number(std::size_t bracket) {
  skip_blanks();
  const std::size_t begin = position_;
  while (!at_end() && is_digit(text_[position_]))
    ++position_;
  const std::string_view digits = text_.substr(begin, position_ - begin);
  if (digits.size() > kMaxIndexDigits) {
    return fail(error_at(begin, cat("a number of more than ", kMaxIndexDigits, " digits")));
  }
  if (digits.empty()) {
    if (at_end()) return fail(error_at(bracket, "'[' is never closed"));
    const char before = text_[text_.find_last_not_of(" \t\n\v\f\r", begin - 1)];
    if ((peek() == ',' || peek() == ']') && (before == ',' || before == '[')) {
      return fail(error_at(begin, "an empty range"));
    }
    return fail(error_at(begin, cat("'", excerpt(text_.substr(begin, 1), 0), "' is not a number")));
  }
  skip_blanks();
  return digits;
}

Result<void> Reader::check_limits(const Term& term) const {
  std::size_t length = 0;
  std::uint64_t nodes = 1;
  for (const Piece& piece : term.pieces) {
    std::size_t longest = 0;
    std::uint64_t choices = piece.ranges.empty() ? 1 : 0;
    for (const Range& range : piece.ranges) {
      longest = std::max(longest, std::max(range.padding, digits_in(range.last)));
      choices += count_of(range);
    }
    length += piece.literal.size() + longest;
    nodes = capped_product(nodes, choices, max_nodes_);
  }
  if (length > NodeSet::kMaxNameBytes) {
    return fail(error_at(term.position,
                         cat("a node name of more than ", NodeSet::kMaxNameBytes, " characters")));
  }
  if (nodes > max_nodes_) {
    return fail(error_at(term.position, cat("more nodes than the limit of ", max_nodes_)));
  }
  return {};
}

}  // namespace scela::nodeset
