// Collects the counters that ranks report at their end (nla/ranks/accounts.h), for --stats: those
// of each rank and those of all ranks. The session uses it, in its one thread.
//
// The ranks choose the names of the counters, and no name is known here. A total is the sum over
// the ranks, or the maximum if the name begins with "max_".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "launcher/report/report_lines.h"

namespace scela {

class RankAccounts {
 public:
  // Adds a piece of the report of a node that has these ranks. It takes the lines that are counters
  // of one of these ranks, up to the number of bytes that a rank may report.
  void add(std::uint32_t node, const RankSet& ranks, std::string_view piece);

  // Returns a table for each kind of counters, or an empty string if there are none. `ranks` is the
  // number of ranks in the job.
  std::string text(std::uint32_t ranks) const;
  // Returns, for example, {"channel":{"all":{"sent":2},"ranks":{"0":{"sent":1},"1":{"sent":1}}}}.
  std::string json() const;

 private:
  // Keeps one line if it is a counter object of one of these ranks, and drops any other line.
  void take(const RankSet& ranks, std::string_view line);

  ReportLines lines_;
  std::map<Rank, std::size_t> taken_of_;  // bytes
  // The JSON objects as they came, by kind and by rank.
  std::map<std::string, std::map<Rank, std::vector<std::string>>> objects_;
};

}  // namespace scela
