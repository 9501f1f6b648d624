// The text form of tables.
#include <algorithm>
#include <charconv>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/choice/choice.h"
#include "common/core/text.h"

namespace scela::collectives {
namespace {

constexpr std::string_view kUnits = "KMG";

std::optional<std::uint64_t> number_of(std::string_view text) {
  unsigned shift = 0;
  if (!text.empty()) {
    const std::size_t unit = kUnits.find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * static_cast<unsigned>(unit + 1);
      text.remove_suffix(1);
    }
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

std::optional<Range> range_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto value = number_of(text);
    if (!value) return std::nullopt;
    return Range{*value, *value};
  }
  Range range;
  const std::string_view least = text.substr(0, dots), most = text.substr(dots + 2);
  if (least.empty() && most.empty()) return std::nullopt;
  const auto first = number_of(least), last = number_of(most);
  if ((!least.empty() && !first) || (!most.empty() && !last)) return std::nullopt;
  range.least = first.value_or(range.least);
  range.most = last.value_or(range.most);
  if (range.least > range.most) return std::nullopt;
  return range;
}

std::string in_units(std::uint64_t value) {
  for (std::size_t unit = kUnits.size(); unit > 0; --unit) {
    const unsigned shift = 10 * static_cast<unsigned>(unit);
    if (value >> shift != 0 && value >> shift << shift == value)
      return cat(value >> shift, kUnits[unit - 1]);
  }
  return cat(value);
}

// The words of a line, one after the other.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line.substr(0, line.find('#'))) {}
  // Returns the next word, or an empty one if none is left.
  std::string_view next() {
    constexpr std::string_view kSpace = " \t\r";
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(kSpace));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

std::string names(Operation operation) {
  std::string all;
  for (const Algorithm& each : algorithms())
    if (each.operation == operation) all += cat(all.empty() ? "" : ", ", each.name);
  return all;
}

// Reads one row. If it cannot be read, `why` says what is wrong, and `hint` what to write instead.
class RowReader {
 public:
  explicit RowReader(Words words) : words_(words) {}
  std::string why, hint;

  std::optional<Row> read(std::string_view operation) {
    const auto known = operation_of(operation);
    if (!known) return refuse(cat("there is no operation '", operation, "'"), "");
    row_.operation = *known;
    std::string_view word = words_.next();
    for (; Range* const range = range_named(word); word = words_.next())
      if (!condition(word, *range)) return std::nullopt;
    if (word.empty()) return refuse("it names no algorithm", cat("one of ", names(*known)));
    row_.algorithm = collectives::find(*known, word);
    if (row_.algorithm == nullptr)
      return refuse(cat(operation, " has no algorithm '", word, "'"),
                    cat("one of ", names(*known)));
    while (!(word = words_.next()).empty())
      if (!parameter(word)) return std::nullopt;
    return row_;
  }

 private:
  std::nullopt_t refuse(std::string reason, std::string what_to_do) {
    why = std::move(reason);
    hint = std::move(what_to_do);
    return std::nullopt;
  }
  Range* range_named(std::string_view word) {
    if (word == "ranks") return &row_.ranks;
    if (word == "nodes") return &row_.nodes;
    if (word == "per-node") return &row_.per_node;
    return word == "bytes" ? &row_.bytes : nullptr;
  }
  bool condition(std::string_view name, Range& range) {
    if (!range.is_all()) return refuse(cat("'", name, "' stands there twice"), ""), false;
    const std::string_view word = words_.next();
    const auto read = range_of(word);
    if (!read)
      return refuse(cat("'", word, "' is no range of ", name), "8, 3.., ..64K or 3..8"), false;
    range = *read;
    return true;
  }
  bool parameter(std::string_view name) {
    const Algorithm& of = *row_.algorithm;
    if (name == "segment")
      return number(name, of.has_segments, {1, Range().most}, "bytes: 16K", row_.segment);
    if (name == "radix") return number(name, of.has_radix, {2, 65536}, "2 to 65536", row_.radix);
    if (name == "split") return number(name, of.has_split, {0, 64}, "0 to 64", row_.split);
    return refuse(cat("'", name, "' behind the algorithm"), "segment BYTES, radix N or split N"),
           false;
  }
  template <typename Number>
  bool number(std::string_view name, bool has, Range range, std::string_view hint_of, Number& to) {
    if (!has) return refuse(cat(row_.algorithm->name, " has no ", name), ""), false;
    const std::string_view word = words_.next();
    const auto value = number_of(word);
    if (!value || !range.holds(*value))
      return refuse(cat("'", word, "' is no ", name), std::string(hint_of)), false;
    to = static_cast<Number>(*value);
    return true;
  }

  Words words_;
  Row row_;
};

}  // namespace

Result<Table> Table::parse(std::string_view text, std::string_view name) {
  Table table;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Words words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view operation = words.next();
    if (operation.empty()) continue;
    RowReader reader(words);
    const auto row = reader.read(operation);
    if (!row)
      return fail({ErrorKind::usage, "read a table of algorithms", cat(name, ":", line), reader.why,
                   reader.hint});
    table.rows_.push_back(*row);
  }
  return table;
}

std::string to_text(const Range& range) {
  if (range.least == range.most) return in_units(range.least);
  const Range all;
  return cat(range.least == all.least ? "" : in_units(range.least), "..",
             range.most == all.most ? "" : in_units(range.most));
}

std::string to_text(const Row& row) {
  std::string text(name_of(row.operation));
  const auto add = [&](std::string_view name, const Range& range) {
    if (!range.is_all()) text += cat(" ", name, " ", to_text(range));
  };
  add("ranks", row.ranks);
  add("nodes", row.nodes);
  add("per-node", row.per_node);
  add("bytes", row.bytes);
  text += cat(" ", row.algorithm->name);
  if (row.segment != 0) text += cat(" segment ", in_units(row.segment));
  if (row.algorithm->has_radix && row.radix != 2) text += cat(" radix ", row.radix);
  if (row.split != 0) text += cat(" split ", row.split);
  return text;
}

std::string Table::text() const {
  std::string text;
  for (const Row& row : rows_)
    text += cat(to_text(row), "\n");
  return text;
}

}  // namespace scela::collectives
