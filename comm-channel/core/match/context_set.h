// A set of contexts (the numbers that separate the messages of different communicators), stored as
// runs of neighbours, since contexts are mostly allocated and released in order. Matcher uses it
// for the contexts of which messages are not wanted (matching.h). It is not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace scela::channel {

class ContextSet {
 public:
  // A range of contexts; both ends are inclusive.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };

  bool empty() const { return runs_.empty(); }
  // Returns the number of runs of neighbours.
  std::size_t runs() const { return runs_.size(); }

  bool contains(std::uint32_t context) const {
    const auto above = runs_.upper_bound(context);
    return above != runs_.begin() && std::prev(above)->second >= context;
  }

  // Adds the contexts of a range. Returns those of them that were not in the set before, as ranges
  // in ascending order.
  std::vector<Run> add(Run added) {
    std::vector<Run> news;
    std::uint64_t next = added.first;
    auto at = runs_.upper_bound(added.first);
    // The previous run is merged too if it touches the added one.
    if (at != runs_.begin() && std::uint64_t{std::prev(at)->second} + 1 >= added.first) --at;
    while (at != runs_.end() && at->first <= std::uint64_t{added.last} + 1) {
      if (at->first > next) news.push_back({static_cast<std::uint32_t>(next), at->first - 1});
      next = std::max(next, std::uint64_t{at->second} + 1);
      added = {std::min(added.first, at->first), std::max(added.last, at->second)};
      at = runs_.erase(at);
    }
    if (next <= added.last) news.push_back({static_cast<std::uint32_t>(next), added.last});
    runs_.emplace(added.first, added.last);
    return news;
  }

  // Removes the contexts of a range; those that are not in the set are ignored.
  void remove(Run removed) {
    auto at = runs_.upper_bound(removed.first);
    if (at != runs_.begin() && std::prev(at)->second >= removed.first) --at;
    while (at != runs_.end() && at->first <= removed.last) {
      const Run run{at->first, at->second};
      at = runs_.erase(at);
      if (run.first < removed.first) runs_.emplace(run.first, removed.first - 1);
      if (run.last > removed.last) runs_.emplace(removed.last + 1, run.last);
    }
  }

 private:
  std::map<std::uint32_t, std::uint32_t> runs_;  // first context of a run -> its last
};

}  // namespace scela::channel
