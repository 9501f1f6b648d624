#include "common/core/rank_set.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela {

namespace {

Error bad_set(std::string_view text, std::string_view why) {
  return Error{ErrorKind::usage, cat("read the set of ranks '", text, "'"), "", std::string(why),
               "write numbers and ranges, like 0-3,7"};
}

// Appends a range that starts at or after the last one, and merges the two if they touch.
void append(std::vector<RankSet::Range>& out, RankSet::Range range) {
  if (!out.empty() && (range.first <= out.back().last || range.first - 1 == out.back().last)) {
    out.back().last = std::max(out.back().last, range.last);
  } else {
    out.push_back(range);
  }
}

}  // namespace

RankSet RankSet::run(Rank first, Rank count) {
  RankSet set;
  if (count > 0) set.ranges_.push_back({first, first + count - 1});
  return set;
}

void RankSet::add(Rank rank) {
  if (ranges_.empty() || ranges_.back().last < rank) {
    append(ranges_, {rank, rank});  // the usual case: ascending
  } else if (!contains(rank)) {
    add(single(rank));
  }
}

void RankSet::add(const RankSet& other) {
  if (other.empty()) return;
  if (ranges_.empty() || ranges_.back().last < other.ranges_.front().first) {
    for (const Range& range : other.ranges_)
      append(ranges_, range);  // the usual case: ascending
    return;
  }
  std::vector<Range> merged;
  merged.reserve(ranges_.size() + other.ranges_.size());
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() || b != other.ranges_.end()) {
    const bool take_a = b == other.ranges_.end() || (a != ranges_.end() && a->first <= b->first);
    append(merged, take_a ? *a++ : *b++);
  }
  ranges_ = std::move(merged);
}

void RankSet::remove(const RankSet& other) {
  *this = minus(other);
}

bool RankSet::contains(Rank rank) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), rank,
                                      [](Rank value, const Range& r) { return value < r.first; });
  return after != ranges_.begin() && std::prev(after)->last >= rank;
}

bool RankSet::contains_all(const RankSet& other) const {
  return other.minus(*this).empty();
}

bool RankSet::intersects(const RankSet& other) const {
  return !intersection(other).empty();
}

RankSet RankSet::intersection(const RankSet& other) const {
  RankSet out;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const Rank first = std::max(a->first, b->first);
    const Rank last = std::min(a->last, b->last);
    if (first <= last) out.ranges_.push_back({first, last});
    if (a->last < b->last) {
      ++a;
    } else {
      ++b;
    }
  }
  return out;
}

RankSet RankSet::minus(const RankSet& other) const {
  RankSet out;
  auto b = other.ranges_.begin();
  for (Range range : ranges_) {
    bool used_up = false;
    while (b != other.ranges_.end() && b->last < range.first)
      ++b;
    for (auto cut = b; cut != other.ranges_.end() && cut->first <= range.last; ++cut) {
      if (cut->first > range.first) out.ranges_.push_back({range.first, cut->first - 1});
      if (cut->last >= range.last) {
        used_up = true;
        break;
      }
      range.first = cut->last + 1;
    }
    if (!used_up) out.ranges_.push_back(range);
  }
  return out;
}

std::uint64_t RankSet::size() const {
  std::uint64_t total = 0;
  for (const Range& range : ranges_)
    total += std::uint64_t{range.last} - range.first + 1;
  return total;
}

std::uint64_t RankSet::index_of(Rank rank) const {
  std::uint64_t before = 0;
  for (const Range& range : ranges_) {
    if (rank <= range.last) return before + (rank - range.first);
    before += std::uint64_t{range.last} - range.first + 1;
  }
  return before;
}

Rank RankSet::at(std::uint64_t index) const {
  for (const Range& range : ranges_) {
    const std::uint64_t length = std::uint64_t{range.last} - range.first + 1;
    if (index < length) return range.first + static_cast<Rank>(index);
    index -= length;
  }
  return ranges_.back().last;
}

std::string RankSet::text() const {
  std::string out;
  for (const Range& range : ranges_) {
    if (!out.empty()) out += ',';
    out += range.first == range.last ? cat(range.first) : cat(range.first, "-", range.last);
  }
  return out;
}

Result<RankSet> RankSet::parse(std::string_view text) {
  RankSet out;
  std::size_t at = 0;
  const auto number = [&](Rank& value) {
    const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code != std::errc{}) return false;
    at = static_cast<std::size_t>(end - text.data());
    return true;
  };
  while (at < text.size()) {
    Range range{};
    if (!number(range.first)) return fail(bad_set(text, cat("no number at position ", at + 1)));
    range.last = range.first;
    if (at < text.size() && text[at] == '-') {
      ++at;
      if (!number(range.last)) return fail(bad_set(text, cat("no number at position ", at + 1)));
      if (range.last < range.first) {
        return fail(bad_set(text, cat("the range ", range.first, "-", range.last, " is reversed")));
      }
    }
    RankSet one;
    one.ranges_.push_back(range);
    out.add(one);
    if (at == text.size()) break;
    if (text[at] != ',' || ++at == text.size()) {
      return fail(bad_set(text, cat("unexpected text at position ", at + 1)));
    }
  }
  return out;
}

}  // namespace scela
