// The command line of scela-perf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::perf {

struct Options {
  enum class Action : std::uint8_t { measure, explain, census, help, version };
  Action action = Action::measure;
  std::string bench;
  std::vector<std::size_t> sizes;     // bytes; empty: those usual for the benchmark
  std::vector<std::string> peers;     // of kPeers
  std::vector<std::string> patterns;  // memory: of core/patterns.h; empty: all
  std::string keep;                   // where compiled contestants stay; empty: nowhere
  int ranks = 0;                      // 0: those usual for the benchmark
  int nodes = 1;                      // simulated ones, from 2 on
  int turns = 3;                      // each contestant's; 0, with `keep`: compile only
  int rounds = 21;
  double round_seconds = 0.01;
  int delay_ms = 100;  // noise
  int window = 64;
  std::vector<std::string> ops;  // coll; to explain or count: empty is all
  std::string algorithm;         // coll: as a table's row says it; empty: the table's choice
  std::string executor = "polled";
  int concurrent = 1;                 // coll: operations under way at once
  std::vector<std::size_t> progress;  // coll: helped on once every so many bytes; a figure for each
  bool pin = true;                    // a processor for each rank, where there are enough
  // All ranks on the first processor, and on the second what moves messages beside them.
  bool apart = false;
  bool json = false;
  // The first option on the command line that says how scela-perf starts a job, or with which other
  // library it compares the channel. A rank of a job that runs already refuses it. Empty: none.
  std::string of_own_job;
};

inline constexpr std::string_view kBenches[] = {
    "latency", "bandwidth", "bidirectional", "rate", "pairs", "memory", "overlap", "noise", "coll"};
// Other libraries; a bare copy between two processes; the channel with other settings.
inline constexpr std::string_view kPeers[] = {"mpich", "openmpi", "copy", "write", "offloaded"};

// `words`: without the program's own name.
Result<Options> parse_options(std::span<const std::string_view> words);
// Those that a benchmark takes where none are named.
int usual_ranks(std::string_view bench);
std::vector<std::size_t> usual_sizes(std::string_view bench);
std::string help_text();

}  // namespace scela::perf
