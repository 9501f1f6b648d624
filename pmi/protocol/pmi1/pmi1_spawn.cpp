#include "pmi/protocol/pmi1/pmi1_spawn.h"

#include <algorithm>
#include <optional>

#include "common/core/text.h"
#include "pmi/protocol/limits.h"

namespace scela::pmi {

bool Pmi1Spawn::take(std::string_view text) {
  bytes_ += text.size() + 1;
  if (bytes_ > kMaxSpawnBlock) return false;
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view key = text.substr(0, equals);
  if (key != "endcmd") {
    block_.emplace(key, text.substr(std::min(equals + 1, text.size())));
    return true;
  }
  whole_ = block_["spawnssofar"] == block_["totspawns"];
  if (std::string fault = take_block(); fault_.empty()) fault_ = std::move(fault);
  block_.clear();
  return true;
}

std::uint64_t Pmi1Spawn::ranks() const {
  std::uint64_t ranks = 0;
  for (const ask::SpawnProgram& program : request_.programs)
    ranks += program.ranks;
  return ranks;
}

// Adds the block to the request. Returns an empty string, or what is wrong with the block.
std::string Pmi1Spawn::take_block() {
  const auto number = [&](std::string_view key) {
    const auto at = block_.find(key);
    return at == block_.end() ? std::optional<int>(0) : parse_int(at->second);
  };
  const auto pairs = [&](std::string_view what, int count, ask::KeyValues& out) {
    for (int i = 0; i < count; ++i) {
      const auto name = block_.find(cat(what, "_key_", i));
      const auto value = block_.find(cat(what, "_val_", i));
      if (name == block_.end() || value == block_.end()) return false;
      out.emplace_back(name->second, value->second);
    }
    return true;
  };
  ask::SpawnProgram program;
  const auto ranks = number("nprocs");
  if (!ranks || *ranks < 1) return "nprocs_is_not_positive";
  program.ranks = static_cast<std::uint32_t>(*ranks);
  program.argv.push_back(block_["execname"]);
  if (program.argv.front().empty()) return "no_execname";
  const auto arguments = number("argcnt");
  const auto infos = number("info_num");
  const auto preput = number("preput_num");
  if (!arguments || !infos || !preput) return "a_count_is_no_number";
  for (int i = 1; i <= *arguments; ++i) {
    const auto word = block_.find(cat("arg", i));
    if (word == block_.end()) return "an_argument_is_missing";
    program.argv.push_back(std::move(word->second));
  }
  if (!pairs("info", *infos, program.infos)) return "an_info_is_missing";
  if (!pairs("preput", *preput, request_.preput)) return "a_preput_is_missing";
  for (const auto& [key, value] : request_.preput) {
    if (key.empty() || key.size() >= kMaxKey) return "preput_key_too_long";
    if (value.size() >= kMaxValue) return "preput_value_too_long";
  }
  request_.programs.push_back(std::move(program));
  return {};
}

LineWriter spawn_answer(const ask::Response& answer, std::uint64_t ranks) {
  constexpr std::size_t kMaxCodes = 512;
  LineWriter line("spawn_result");
  line.add("rc", answer.ok ? 0 : 1);
  if (!answer.ok) line.add("msg", as_word(answer.error));
  const std::string codes = answer.ok ? zeros(ranks, kMaxCodes) : std::string(answer.value());
  if (!codes.empty() && codes.size() <= kMaxCodes) line.add("errcodes", codes);
  return line;
}

}  // namespace scela::pmi
