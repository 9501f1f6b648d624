// A rank's request for more ranks, in whatever protocol the rank uses. nla/core/kvs/spawns.h
// carries it to the root, and the root's shell plans it. Values, for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace scela::nla {

// Keys with values, in the order of the request.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// One program of a request, and how many ranks run it.
struct SpawnProgram {
  // The program and its arguments, so at least one word.
  std::vector<std::string> argv;
  std::uint32_t ranks = 1;  // number of ranks that run it
  KeyValues infos;          // hints; an unknown hint is no error
  // Variables ("K=V"), beside those of the program of the rank that asks.
  std::vector<std::string> env = {};
  friend bool operator==(const SpawnProgram&, const SpawnProgram&) = default;
};

// The new ranks of a request form one world: they are numbered in the order of the programs, from
// 0.
struct SpawnRequest {
  std::vector<SpawnProgram> programs;
  // Pairs that the new ranks' key-value space begins with.
  KeyValues preput;
  friend bool operator==(const SpawnRequest&, const SpawnRequest&) = default;
};

}  // namespace scela::nla
