// The facts of a job that a session can tell its rank without a question to another node. They are
// equal on all nodes, except for the rank and the ranks of its node.
//
// Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela::pmi {

// Ranks that other ranks have spawned count as a job of their own here, a world. Its ranks know
// each other by numbers from 0. Requests (common/core/requests/rank_request.h) number them as in
// the whole job.
struct JobFacts {
  Rank rank = 0;
  Rank size = 0;                   // number of ranks in the job
  std::int32_t appnum = 0;         // the program's position in the command
  std::int64_t universe_size = 0;  // ranks at once, >= size; -1: no limit
  std::string kvsname{};           // no spaces, shorter than kMaxKvsname
  std::string process_mapping{};   // RankMap::process_mapping()
  RankSet node_ranks{};            // on the rank's node, itself included
  std::string spawner{};           // kvsname of the spawning job, or empty
  Rank first_rank = 0;             // number of the world's rank 0 in the whole job
  std::string key_prefix{};        // before each key of the world; empty for the first world
};

// Returns the key as the whole job calls it: with the prefix of the rank's world.
std::string key_in_job(const JobFacts& facts, std::string_view key);
// Returns the numbers in the whole job of `ranks`, which are numbered as in the rank's world.
RankSet ranks_in_job(const JobFacts& facts, const RankSet& ranks);
// Returns the numbers in the whole job of all ranks of the rank's world.
RankSet world_in_job(const JobFacts& facts);

// Returns the value of an attribute of the job that both protocols know by the same name (PMI-1: a
// reserved key; PMI-2: info-getjobattr). Returns std::nullopt if there is no such attribute, or if
// its value does not fit into kMaxValue.
std::optional<std::string> job_attribute(const JobFacts& facts, std::string_view key);

}  // namespace scela::pmi
