// Collects the counters that ranks report at their end (nla/ranks/rank_counter_files.h), for
// --stats: those of each rank and those of all ranks. The session uses it, in its one thread.
//
// Agents send the reports of a node in pieces. Each line is a JSON object with the counters of one
// rank, of one kind (such as "channel"). The ranks choose the names of the counters, and no name is
// known here. A total is the sum over the ranks, or the maximum if the name begins with "max_".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "launcher/report/report_lines.h"

namespace scela {

// The counters of all ranks of a job.
class RankCounters {
 public:
  // Adds the next piece of the report of node number `node`. `ranks` has the ranks of this node. It
  // takes lines with counters of these ranks only, and limits the bytes of each rank.
  void add(std::uint32_t node, const RankSet& ranks, std::string_view piece);

  // Returns a table for each kind of counters, for a terminal, or an empty string if there are
  // none. `ranks` is the number of ranks in the job.
  std::string text(std::uint32_t ranks) const;
  // Returns the totals and the counters of each rank as a JSON object, for example
  // {"channel":{"all":{"sent":2},"ranks":{"0":{"sent":1},"1":{"sent":1}}}}.
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
