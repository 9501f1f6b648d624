#include "pmi/protocol/job_facts.h"

#include "common/core/text.h"
#include "pmi/protocol/limits.h"

namespace scela::pmi {

std::string key_in_job(const JobFacts& facts, std::string_view key) {
  return cat(facts.key_prefix, key);
}

RankSet ranks_in_job(const JobFacts& facts, const RankSet& ranks) {
  RankSet out;
  for (const RankSet::Range& run : ranks.ranges())
    out.add(RankSet::run(facts.first_rank + run.first, run.last - run.first + 1));
  return out;
}

RankSet world_in_job(const JobFacts& facts) {
  return RankSet::run(facts.first_rank, facts.size);
}

std::optional<std::string> job_attribute(const JobFacts& facts, std::string_view key) {
  if (key == "PMI_process_mapping") {
    if (facts.process_mapping.size() >= kMaxValue) return std::nullopt;
    return facts.process_mapping;
  }
  if (key == "universeSize") return cat(facts.universe_size);
  if (key == "hasNameServ") return "TRUE";
  return std::nullopt;
}

}  // namespace scela::pmi
