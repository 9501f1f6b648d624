// A rank's request for more ranks, in whatever protocol the rank speaks. nla/core/kvs/spawns.h
// carries it to the root, and the root's shell plans it. Values, for any thread.
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
  KeyValues infos;                    // hints; an unknown hint is no error
  std::vector<std::string> env = {};  // "K=V", beside those of the asker's app
  friend bool operator==(const SpawnProgram&, const SpawnProgram&) = default;
};

struct SpawnRequest {
  std::vector<SpawnProgram> programs;
  KeyValues preput;  // for the new ranks' key-value space
  friend bool operator==(const SpawnRequest&, const SpawnRequest&) = default;
};

}  // namespace scela::nla
