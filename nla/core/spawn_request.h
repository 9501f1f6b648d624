// What a rank asks for when it asks for more ranks, whatever protocol it speaks.
//
// Values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace scela::nla {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct SpawnProgram {
  std::vector<std::string> argv;  // at least the program
  std::uint32_t ranks = 1;
  KeyValues infos;                    // hints; those that are not known are no error
  std::vector<std::string> env = {};  // "K=V", beside what the asker's program has
  friend bool operator==(const SpawnProgram&, const SpawnProgram&) = default;
};

struct SpawnRequest {
  std::vector<SpawnProgram> programs;
  KeyValues preput;  // for the new ranks' key-value space
  friend bool operator==(const SpawnRequest&, const SpawnRequest&) = default;
};

}  // namespace scela::nla
