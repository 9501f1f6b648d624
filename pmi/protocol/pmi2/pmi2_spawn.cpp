#include "pmi/protocol/pmi2/pmi2_spawn.h"

#include <utility>

#include "common/core/text.h"
#include "pmi/protocol/keyval.h"

namespace scela::pmi {

namespace {

bool is_count(std::string_view text, std::uint32_t& out) {
  const auto number = parse_int(text);
  if (!number || *number < 0) return false;
  out = static_cast<std::uint32_t>(*number);
  return true;
}

}  // namespace

std::string read_spawn(const Pmi2Message& message, ask::SpawnRequest& out) {
  std::uint32_t programs = 0, preput = 0, arguments = 0, infos = 0;
  std::string key;
  const auto whole = [&] {
    return out.programs.empty() || (out.programs.back().argv.size() == arguments + 1 &&
                                    out.programs.back().infos.size() == infos);
  };
  for (const auto& [name, value] : message.tuples()) {
    bool right = true;
    if (name == "ncmds") {
      right = is_count(value, programs);
    } else if (name == "preputcount") {
      right = is_count(value, preput);
    } else if (name == "subcmd") {
      if (!whole()) return "a program lacks an argument or info";
      if (value.empty()) return "a program has no name";
      out.programs.emplace_back().argv.push_back(value);
      arguments = infos = 0;
    } else if (name.starts_with("ppkey") || name.starts_with("infokey")) {
      if (name == "infokeycount") {
        right = is_count(value, infos);
      } else {
        key = value;
      }
    } else if (name.starts_with("ppval")) {
      out.preput.emplace_back(std::exchange(key, {}), value);
    } else if (out.programs.empty()) {
      continue;
    } else if (name.starts_with("infoval")) {
      out.programs.back().infos.emplace_back(std::exchange(key, {}), value);
    } else if (name == "maxprocs") {
      right = is_count(value, out.programs.back().ranks) && out.programs.back().ranks > 0;
    } else if (name == "argc") {
      right = is_count(value, arguments);
    } else if (name.starts_with("argv")) {
      out.programs.back().argv.push_back(value);
    }
    if (!right) return cat(name, " is no number that can be");
  }
  if (out.programs.empty() || out.programs.size() != programs) return "ncmds is not how many come";
  if (!whole()) return "a program lacks an argument or info";
  if (out.preput.size() != preput) return "preputcount is not how many come";
  return {};
}

}  // namespace scela::pmi
