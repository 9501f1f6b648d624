// What ranks tell of themselves when they end (nla/accounts.h), for --stats: each rank's figures
// and those of all.
//
// Figures have names, which are the ranks' own; nothing here knows any. Those of all are sums, and
// of a name that ends in "_most" the largest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "launcher/report_lines.h"

namespace scela {

class RankAccounts {
 public:
  // A piece of the report of a node with these ranks. Of its lines those that are accounts of one
  // of the ranks are taken, as long as they are no more than the ranks may write.
  void add(std::uint32_t node, const RankSet& ranks, std::string_view piece);

  // A table for each who keeps accounts; empty: there are none. `ranks`: of the job.
  std::string text(std::uint32_t ranks) const;
  // {"channel":{"all":{"sent":2},"ranks":{"0":{"sent":1},"1":{"sent":1}}}}
  std::string json() const;

 private:
  void take(const RankSet& ranks, std::string_view line);

  ReportLines lines_;
  std::map<Rank, std::size_t> taken_of_;  // bytes
  // By who keeps them, and whose they are: objects as they came.
  std::map<std::string, std::map<Rank, std::vector<std::string>>> objects_;
};

}  // namespace scela
