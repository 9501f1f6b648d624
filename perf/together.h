// The helpers of every loop (timed_loops.h): the plan of a run, a clock, and operations by which
// the ranks of a contestant act together. `Peer` is the class of a contestant (timed_loops.h).
//
// Each rank uses it from one thread. The file uses only the standard library, because the mpicxx of
// each peer compiles it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "perf/core/collective_names.h"

namespace scela::perf {

// The parameters of a run, which all ranks get from the command line (rank_words.h).
struct Plan {
  std::string bench = "latency";   // one of kBenches in perf/core/options.h
  std::vector<std::size_t> sizes;  // bytes of a message
  int rounds = 21;                 // of each size; each gives one figure
  double round_seconds = 0.01;     // the approximate length of a round
  // The messages under way in bandwidth and rate benchmarks.
  int window = 64;
  std::string pattern = "all";  // memory: the pattern of partners
  double delay_seconds = 0.1;   // noise: the delay of one rank
  long driver = 0;              // id of the process that started the job
  bool apart = false;           // all ranks share a processor
  // The following are for the collective benchmark (coll). The operations are named as in
  // perf/core/collective_names.h.
  std::vector<std::string> ops;
  std::string algorithm;            // empty: the contestant's choice
  std::string executor = "polled";  // one of perf/core/collective_names.h
  int concurrent = 1;               // operations under way at once
  // The operation is advanced once every so many bytes; each value gives a figure.
  std::vector<std::size_t> progress;
};

// Returns seconds of a clock that never goes back.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns on rank 0 the values of all ranks, by rank. They travel by a tree; every pattern has its
// edges (perf/core/patterns.h). So no rank needs other partners for it. All ranks must call it; it
// blocks. The result of other ranks has no meaning. Values are copied as bytes.
template <class Peer, class Value>
std::vector<Value> gather_at_0(Peer& peer, const Value& own) {
  std::vector<Value> all{own};
  const int rank = peer.rank(), size = peer.size();
  for (int bit = 1; bit < size; bit *= 2) {
    if ((rank & bit) != 0) {
      peer.send_aside(rank - bit, all.data(), all.size() * sizeof own);
      return all;
    }
    if (rank + bit >= size) continue;
    const std::size_t known = all.size();
    all.resize(known + static_cast<std::size_t>(std::min(bit, size - rank - bit)));
    peer.recv_aside(rank + bit, &all[known], (all.size() - known) * sizeof own);
  }
  return all;
}

// Replaces `value` on all ranks by rank 0's, by the same tree. All ranks must call it; it blocks.
template <class Peer, class Value>
void broadcast_from_0(Peer& peer, Value& value) {
  const int rank = peer.rank(), size = peer.size();
  int bit = 1;
  while (bit < size && (rank & bit) == 0)
    bit *= 2;
  if (bit < size) peer.recv_aside(rank - bit, &value, sizeof value);
  while ((bit /= 2) > 0)
    if (rank + bit < size) peer.send_aside(rank + bit, &value, sizeof value);
}

// Blocks until all ranks have called it: a barrier.
template <class Peer>
void barrier(Peer& peer) {
  char byte = 0;
  gather_at_0(peer, byte);
  broadcast_from_0(peer, byte);
}

// The results of one size, which rank 0 prints as a line (perf/core/report.h reads it).
struct Line {
  // The operation, if a benchmark has several.
  std::string op;
  std::size_t bytes = 0;  // of a message
  // The microseconds of one operation, one value for each round.
  std::vector<double> us;
  // Other figures by name. A name that ends in _us is microseconds.
  std::vector<std::pair<std::string, std::vector<double>>> values;
  ExecutorAndAlgorithm means;  // coll: the executor and the algorithm
};

// Returns the numbers as an array of JSON, with six significant digits.
inline std::string json_of(const std::vector<double>& numbers) {
  std::string text = "[";
  char digits[40];
  for (const double number : numbers) {
    std::snprintf(digits, sizeof digits, "%s%.6g", text.size() == 1 ? "" : ",", number);
    text += digits;
  }
  return text + "]";
}

// Prints the line as JSON on standard output. Only rank 0 calls it. `provider` names what moves the
// messages ("shm", "mpich-tcp").
template <class Peer>
void print(const Peer& peer, const Plan& plan, const char* provider, const Line& line) {
  std::string values;
  for (const auto& [name, numbers] : line.values)
    values += (values.empty() ? "\"" : ",\"") + name + "\":" + json_of(numbers);
  std::printf(
      "{\"bench\":\"%s\",\"op\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"nodes\":%d,\"provider\":\"%s\","
      "\"executor\":\"%s\",\"algorithm\":\"%s\",\"us\":%s,\"values\":{%s}}\n",
      plan.bench.c_str(), line.op.empty() ? plan.bench.c_str() : line.op.c_str(), line.bytes,
      peer.size(), peer.nodes(), provider, line.means.executor.c_str(),
      line.means.algorithm.c_str(), json_of(line.us).c_str(), values.c_str());
  std::fflush(stdout);
}

}  // namespace scela::perf
