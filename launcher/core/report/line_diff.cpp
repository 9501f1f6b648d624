// The lines of both texts become numbers first, so that a comparison is cheap. Myers' greedy
// algorithm then goes through the numbers of changes d = 0, 1, ... For each diagonal k of the grid
// (position in `before` minus position in `after`) it keeps the furthest point that d changes
// reach. The points of all d are kept, and the way back through them gives the lines that both
// texts have.
#include "launcher/core/report/line_diff.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "common/core/text.h"

namespace scela {

namespace {

using Lines = std::vector<std::string_view>;
using Numbers = std::vector<std::uint32_t>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    lines.push_back(text.substr(0, newline));
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  }
  return lines;
}

// Lines that both texts have, in the same order.
struct Common {
  std::size_t before;  // index of the first line
  std::size_t after;
  std::size_t length;
};

// The furthest points that d changes reach, as positions in `before`.
class Front {
 public:
  explicit Front(std::ptrdiff_t changes)
      : changes_(changes), points_(static_cast<std::size_t>(2 * changes + 1)) {}
  std::int32_t& at(std::ptrdiff_t diagonal) {
    return points_[static_cast<std::size_t>(diagonal + changes_)];
  }
  std::int32_t at(std::ptrdiff_t diagonal) const {
    return points_[static_cast<std::size_t>(diagonal + changes_)];
  }
  // Returns true if the best way to the diagonal adds a line, and false if it removes one.
  bool comes_from_above(std::ptrdiff_t diagonal) const {
    if (diagonal == -(changes_ + 1)) return true;
    if (diagonal == changes_ + 1) return false;
    return at(diagonal - 1) < at(diagonal + 1);
  }

 private:
  std::ptrdiff_t changes_;
  std::vector<std::int32_t> points_;
};

// Returns the way back from the ends of both texts, as blocks of common lines in ascending order.
std::vector<Common> way_back(const std::vector<Front>& fronts, std::ptrdiff_t x, std::ptrdiff_t y) {
  std::vector<Common> blocks;
  const auto add = [&](std::ptrdiff_t from_x, std::ptrdiff_t from_y, std::ptrdiff_t length) {
    if (length > 0)
      blocks.push_back({static_cast<std::size_t>(from_x), static_cast<std::size_t>(from_y),
                        static_cast<std::size_t>(length)});
  };
  for (std::size_t d = fronts.size(); d-- > 0;) {
    const Front& front = fronts[d];
    const std::ptrdiff_t k = x - y;
    const bool adds = front.comes_from_above(k);
    const std::ptrdiff_t from_x = front.at(adds ? k + 1 : k - 1);
    const std::ptrdiff_t from_y = from_x - (adds ? k + 1 : k - 1);
    const std::ptrdiff_t start_x = adds ? from_x : from_x + 1;
    add(start_x, start_x - k, x - start_x);
    x = from_x;
    y = from_y;
  }
  add(0, 0, x);
  std::ranges::reverse(blocks);
  return blocks;
}

// Returns the blocks of common lines that leave the fewest changes. Returns no block if the limits
// are exceeded.
std::vector<Common> common_lines(const Numbers& before, const Numbers& after) {
  const auto n = static_cast<std::ptrdiff_t>(before.size());
  const auto m = static_cast<std::ptrdiff_t>(after.size());
  std::uint64_t steps = 0;
  std::vector<Front> fronts;  // the last one is that of the changes so far
  for (std::ptrdiff_t d = 0; d <= static_cast<std::ptrdiff_t>(kMaxChanges); ++d) {
    Front front(d);
    for (std::ptrdiff_t k = -d; k <= d; k += 2) {
      std::ptrdiff_t x = 0;
      if (d > 0) {
        const Front& last = fronts.back();
        x = last.comes_from_above(k) ? last.at(k + 1) : last.at(k - 1) + 1;
      }
      for (; x < n && x - k < m && x - k >= 0; ++x, ++steps)
        if (before[static_cast<std::size_t>(x)] != after[static_cast<std::size_t>(x - k)]) break;
      if (x >= n && x - k >= m) return way_back(fronts, n, m);
      front.at(k) = static_cast<std::int32_t>(x);
    }
    fronts.push_back(std::move(front));
    if ((steps += static_cast<std::uint64_t>(d)) > kMaxSteps) break;
  }
  return {};
}

// Gives equal lines equal numbers.
class Numbering {
 public:
  Numbers of(const Lines& lines) {
    Numbers out;
    out.reserve(lines.size());
    for (const std::string_view line : lines)
      out.push_back(known_.emplace(line, static_cast<std::uint32_t>(known_.size())).first->second);
    return out;
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> known_;
};

// Returns all common blocks, and at last an empty one at the ends of both texts.
std::vector<Common> all_common(const Lines& before, const Lines& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0, tail = 0;
  while (head < shorter && before[head] == after[head])
    ++head;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  std::vector<Common> blocks{{0, 0, head}};
  Numbering numbering;
  const auto middle = [&](const Lines& lines) {
    return numbering.of(Lines(lines.begin() + static_cast<std::ptrdiff_t>(head),
                              lines.end() - static_cast<std::ptrdiff_t>(tail)));
  };
  const Numbers of_before = middle(before), of_after = middle(after);
  for (const Common& block : common_lines(of_before, of_after))
    blocks.push_back({block.before + head, block.after + head, block.length});
  blocks.push_back({before.size() - tail, after.size() - tail, tail});
  blocks.push_back({before.size(), after.size(), 0});
  return blocks;
}

// Lines [before, before_end) that become [after, after_end).
struct Change {
  std::size_t before, before_end, after, after_end;
};

std::vector<Change> changes_between(const std::vector<Common>& blocks) {
  std::vector<Change> changes;
  std::size_t before = 0, after = 0;
  for (const Common& block : blocks) {
    if (before < block.before || after < block.after)
      changes.push_back({before, block.before, after, block.after});
    before = block.before + block.length;
    after = block.after + block.length;
  }
  return changes;
}

// Returns a range of lines as hunks name it: "3,2", or "3" for one line.
std::string range_text(std::size_t from, std::size_t end) {
  const std::size_t count = end - from;
  return cat(count == 0 ? from : from + 1, count == 1 ? "" : cat(',', count));
}

void append_lines(std::string& out, char mark, const Lines& lines, std::size_t from,
                  std::size_t end) {
  for (; from < end; ++from)
    out += cat(mark, lines[from], '\n');
}

// Appends one hunk with the changes [first, last].
void append_hunk(std::string& out, const Lines& before, const Lines& after, const Change* first,
                 const Change* last) {
  const std::size_t lead = std::min(kDiffContext, first->before);
  const std::size_t trail = std::min(kDiffContext, before.size() - last->before_end);
  out += cat("@@ -", range_text(first->before - lead, last->before_end + trail), " +",
             range_text(first->after - lead, last->after_end + trail), " @@\n");
  std::size_t at = first->before - lead;
  for (const Change* change = first; change <= last; ++change) {
    append_lines(out, ' ', before, at, change->before);
    append_lines(out, '-', before, change->before, change->before_end);
    append_lines(out, '+', after, change->after, change->after_end);
    at = change->before_end;
  }
  append_lines(out, ' ', before, at, at + trail);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after) {
  const Lines old_lines = lines_of(before), new_lines = lines_of(after);
  const std::vector<Change> changes = changes_between(all_common(old_lines, new_lines));
  std::string out;
  for (std::size_t first = 0; first < changes.size();) {
    std::size_t last = first;
    while (last + 1 < changes.size() &&
           changes[last + 1].before - changes[last].before_end <= 2 * kDiffContext)
      ++last;
    append_hunk(out, old_lines, new_lines, &changes[first], &changes[last]);
    first = last + 1;
  }
  return out;
}

}  // namespace scela
