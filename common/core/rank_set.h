// A set of ranks (or of any small non-negative numbers, such as nodes and processors) held as
// sorted, disjoint, non-adjacent ranges. All rooms use it.
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

// A set of numbers below 2^32.
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
  // Returns the set of one rank.
  static RankSet single(Rank rank) { return run(rank, 1); }

  // Adds one rank; it may be in the set already.
  void add(Rank rank);
  // Adds all members of the other set; the cost is linear in the ranges of both.
  void add(const RankSet& other);
  // Removes the members of the other set. Numbers that are not in this set are ignored.
  void remove(const RankSet& other);
  bool contains(Rank rank) const;  // logarithmic in ranges
  bool contains_all(const RankSet& other) const;
  bool intersects(const RankSet& other) const;
  // These return a new set: the members of both sets, and those of this set without the other's.
  RankSet intersection(const RankSet& other) const;
  RankSet minus(const RankSet& other) const;
  bool empty() const { return ranges_.empty(); }
  std::uint64_t size() const;                           // number of members
  Rank front() const { return ranges_.front().first; }  // requires !empty()
  // Returns the ranges in ascending order.
  const std::vector<Range>& ranges() const { return ranges_; }
  // Returns the position of a member in ascending order, from 0. Requires contains(rank).
  std::uint64_t index_of(Rank rank) const;
  // Returns the member at a position. Requires index < size().
  Rank at(std::uint64_t index) const;

  // Calls f(rank) for each member, in ascending order.
  template <class F>
  void for_each(F&& f) const {
    for (const Range& range : ranges_) {
      for (Rank rank = range.first;; ++rank) {
        f(rank);
        if (rank == range.last) break;
      }
    }
  }

  // Returns the set as text, such as "0-3,7"; "" if it is empty.
  std::string text() const;
  // Parses what text() returns; ranges may come in any order. Error: kind usage.
  static Result<RankSet> parse(std::string_view text);

  friend bool operator==(const RankSet&, const RankSet&) = default;
  friend auto operator<=>(const RankSet&, const RankSet&) = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace scela
