// What a rank may know of its job without asking anybody else: the same on every node but for the
// rank.
//
// Values only.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/rank_set.h"

namespace scela::pmi {

struct JobFacts {
  Rank rank = 0;
  Rank size = 0;                   // ranks in the job
  std::int32_t appnum = 0;         // position of the rank's program on the command line
  std::int64_t universe_size = 0;  // ranks that could run at once; at least `size`
  std::string kvsname{};           // the job's key-value space; no spaces, shorter than kMaxKvsname
  std::string process_mapping{};   // RankMap::process_mapping()
};

}  // namespace scela::pmi
