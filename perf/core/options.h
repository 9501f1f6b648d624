// The command line of scela-perf: its options and their parser, which is pure. A contestant is a
// library that is measured; its ranks run as jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::perf {

// The options. Those for which "coll" or "noise" is named are for that benchmark only.
struct Options {
  // `explain` prints the choice of algorithms (perf/choices.h), and `census` the connections that
  // ranks need (perf/connection_counts.h).
  enum class Action : std::uint8_t { measure, explain, census, help, version };
  Action action = Action::measure;
  std::string bench;               // one of kBenches
  std::vector<std::size_t> sizes;  // bytes; empty: the benchmark's usual
  std::vector<std::string> peers;  // of kPeers
  // For memory, a list from perf/core/patterns.h; empty means all patterns.
  std::vector<std::string> patterns;
  // The folder in which compiled contestants stay; empty means that they are removed.
  std::string keep;
  int ranks = 0;  // 0: the benchmark's usual number
  int nodes = 1;  // simulated ones, from 2 on
  // How often each contestant runs; 0, with `keep`, only compiles the contestants.
  int turns = 3;
  // The rounds of each size; each round gives one figure.
  int rounds = 21;
  double round_seconds = 0.01;   // approximately
  int delay_ms = 100;            // noise: the delay in milliseconds
  int window = 64;               // messages under way at once
  std::vector<std::string> ops;  // coll; to explain or count: empty is all
  // For coll, as a table's row has it; empty means the table's choice.
  std::string algorithm;
  std::string executor = "polled";  // coll: one of kExecutors in collective_names.h
  int concurrent = 1;               // coll: operations under way at once
  // For coll: the operation is advanced once every so many bytes; each value gives a figure.
  std::vector<std::size_t> progress;
  // Each rank gets a processor of its own, if there are enough.
  bool pin = true;
  // All ranks run on the first processor, and the threads that move their messages on the second.
  bool apart = false;
  bool json = false;  // print JSON, not a table
  // The first option on the command line that says how scela-perf starts a job, or with which other
  // library it compares the channel. A rank of a job that runs already refuses it. Empty if there
  // is no such option.
  std::string of_own_job;
};

// The benchmarks, which scela-perf --help explains.
inline constexpr std::string_view kBenches[] = {
    "latency", "bandwidth", "bidirectional", "rate", "pairs", "memory", "overlap", "noise", "coll"};
// The contestants that can be measured beside the channel: other libraries, a bare copy between two
// processes, and the channel with other settings.
inline constexpr std::string_view kPeers[] = {"mpich", "openmpi", "copy", "write", "offloaded"};

// Parses the words of the command line, without the program's own name. Returns the options with
// the benchmark's usual values filled in, or an error (kind usage).
Result<Options> parse_options(std::span<const std::string_view> words);
// These return the ranks and the sizes in bytes that a benchmark uses if the command line names
// none.
int usual_ranks(std::string_view bench);
std::vector<std::size_t> usual_sizes(std::string_view bench);
// Returns the text of --help.
std::string help_text();

}  // namespace scela::perf
