// What a rank may know of its job without asking anybody else: the same everywhere but for the rank
// and what lies on its node.
//
// Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela::pmi {

// Ranks that other ranks have asked for are a job of their own here.
struct JobFacts {
  Rank rank = 0;
  Rank size = 0;                   // ranks in the job
  std::int32_t appnum = 0;         // position of the rank's program on the command line
  std::int64_t universe_size = 0;  // ranks that could run at once, at least `size`; -1: no limit
  std::string kvsname{};           // the job's key-value space; no spaces, shorter than kMaxKvsname
  std::string process_mapping{};   // RankMap::process_mapping()
  RankSet node_ranks{};            // on the rank's node, itself included
  std::string spawner{};           // kvsname of the job that has asked for this one, or empty
};

// An attribute of the job that every protocol knows by the same name (PMI-1: a reserved key; PMI-2:
// info-getjobattr). None: there is no such attribute, or its value would not fit.
std::optional<std::string> job_attribute(const JobFacts& facts, std::string_view key);

}  // namespace scela::pmi
