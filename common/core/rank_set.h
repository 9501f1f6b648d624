// A set of ranks (or of any small non-negative numbers) held as sorted, disjoint, non-adjacent
// ranges.
//
// A job's ranks come in runs, so a set of a million ranks is usually one range. A set is a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela {

using Rank = std::uint32_t;

class RankSet {
 public:
  struct Range {
    Rank first;
    Rank last;  // inclusive
    friend bool operator==(const Range&, const Range&) = default;
    friend auto operator<=>(const Range&, const Range&) = default;
  };

  RankSet() = default;
  // Returns the `count` ranks from `first` on; the set is empty if count is 0.
  static RankSet run(Rank first, Rank count);
  static RankSet single(Rank rank) { return run(rank, 1); }

  void add(Rank rank);
  void add(const RankSet& other);  // union, linear in the ranges of both
  void remove(const RankSet& other);
  bool contains(Rank rank) const;  // logarithmic in ranges
  bool contains_all(const RankSet& other) const;
  bool intersects(const RankSet& other) const;
  RankSet intersection(const RankSet& other) const;
  RankSet minus(const RankSet& other) const;
  bool empty() const { return ranges_.empty(); }
  std::uint64_t size() const;
  Rank front() const { return ranges_.front().first; }  // requires !empty()
  const std::vector<Range>& ranges() const { return ranges_; }
  // Returns the position of a member in ascending order. Requires contains(rank).
  std::uint64_t index_of(Rank rank) const;
  // Returns the member at a position. Requires index < size().
  Rank at(std::uint64_t index) const;

  template <class F>
  void for_each(F&& f) const {
    for (const Range& range : ranges_) {
      for (Rank rank = range.first;; ++rank) {
        f(rank);
        if (rank == range.last) break;
      }
    }
  }

  std::string text() const;  // "0-3,7", "" when empty
  // Parses what text() returns; ranges may come in any order. Error: kind usage.
  static Result<RankSet> parse(std::string_view text);

  friend bool operator==(const RankSet&, const RankSet&) = default;
  friend auto operator<=>(const RankSet&, const RankSet&) = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace scela
