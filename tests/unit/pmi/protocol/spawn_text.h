// Writes a spawn request in one line, so that tests can compare it.
#pragma once

#include <string>

#include "pmi/protocol/request.h"

namespace scela::pmi {

// Returns, for example, "2 of [a][b c] host=h; 1 of [d]; key=value" for two programs, a hint and a
// pair.
inline std::string text_of(const ask::Spawn& spawn) {
  std::string text;
  for (const SpawnProgram& program : spawn.programs) {
    text += (text.empty() ? "" : "; ") + std::to_string(program.ranks) + " of ";
    for (const std::string& word : program.argv)
      text += "[" + word + "]";
    for (const auto& [key, value] : program.infos)
      text += " " + key + "=" + value;
  }
  for (const auto& [key, value] : spawn.preput)
    text += "; " + key + "=" + value;
  return text;
}

}  // namespace scela::pmi
