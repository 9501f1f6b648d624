#include "pmi/protocol/job_facts.h"

#include "common/core/text.h"
#include "pmi/protocol/limits.h"

namespace scela::pmi {

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
