#include "collectives/core/analysis/sums.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

Sums::Sums(int ranks, bool commutes)
    : ranks_(static_cast<std::uint32_t>(ranks)), commutes_(commutes) {}

std::uint32_t Sums::of_run(int first, int last) {
  return number_of({Run{first, last}});
}

Sums::Runs Sums::runs_of(std::uint32_t sum) const {
  if (sum > ranks_) return longer_[sum - ranks_ - 1];
  const int rank = static_cast<int>(sum) - 1;
  return {Run{rank, rank}};
}

std::uint32_t Sums::number_of(Runs runs) {
  if (runs.size() == 1 && runs[0].from == runs[0].to) return of_rank(runs[0].from);
  const auto next = ranks_ + 1 + static_cast<std::uint32_t>(longer_.size());
  const auto [found, is_new] = numbers_.try_emplace(runs, next);
  if (is_new) longer_.push_back(std::move(runs));
  return found->second;
}

std::uint32_t Sums::combine(std::uint32_t left, std::uint32_t right) {
  const std::uint64_t both = std::uint64_t{left} << 32 | right;
  if (const auto known = combined_.find(both); known != combined_.end()) return known->second;
  Runs all = runs_of(left);
  const Runs more = runs_of(right);
  all.insert(all.end(), more.begin(), more.end());
  // Runs that share a rank stay apart. Such a sequence is a sum too, though never the right one.
  if (commutes_) std::sort(all.begin(), all.end());
  Runs joined;
  for (const Run& run : all) {
    if (!joined.empty() && joined.back().to + 1 == run.from) {
      joined.back().to = run.to;
    } else {
      joined.push_back(run);
    }
  }
  const std::uint32_t out = number_of(std::move(joined));
  combined_.emplace(both, out);
  return out;
}

std::string Sums::text(std::uint32_t sum) const {
  if (sum == kNothing) return "nothing";
  std::string out;
  for (const Run& run : runs_of(sum)) {
    out += out.empty() ? "" : ", ";
    out += run.from == run.to ? cat(run.from) : cat(run.from, "-", run.to);
  }
  return cat(sum > ranks_ ? "ranks " : "rank ", out);
}

}  // namespace scela::collectives
