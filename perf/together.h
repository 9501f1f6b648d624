// The helpers of every loop (loops.h): a clock, and operations by which the ranks of a contestant
// act together.
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

#include "perf/core/collectives.h"

namespace scela::perf {

struct Plan {
  std::string bench = "latency";
  std::vector<std::size_t> sizes;
  int rounds = 21;              // of each size; each gives one figure
  double round_seconds = 0.01;  // approximately
  // The messages under way in bandwidth and rate benchmarks.
  int window = 64;
  std::string pattern = "all";  // memory: the pattern of partners
  double delay_seconds = 0.1;   // for the noise benchmark
  long driver = 0;              // the process that started the job
  bool apart = false;           // all ranks share a processor
  // The following are for the collective benchmark (coll).
  std::vector<std::string> ops;
  std::string algorithm;            // empty: the contestant's choice
  std::string executor = "polled";  // one of perf/core/collectives.h
  int concurrent = 1;               // operations under way at once
  // The operation is advanced once every so many bytes; each value gives a figure.
  std::vector<std::size_t> progress;
};

// Returns seconds of a clock that never goes back.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Rank 0 gets the values of all ranks, in order. They travel by a tree; every pattern has its edges
// (perf/core/patterns.h). So no rank needs other partners for it. All ranks must call it; it
// blocks. The result of other ranks has no meaning.
template <class Peer, class Value>
std::vector<Value> gathered(Peer& peer, const Value& own) {
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

// Gives rank 0's value to all ranks, by the same tree.
template <class Peer, class Value>
void agree(Peer& peer, Value& value) {
  const int rank = peer.rank(), size = peer.size();
  int bit = 1;
  while (bit < size && (rank & bit) == 0)
    bit *= 2;
  if (bit < size) peer.recv_aside(rank - bit, &value, sizeof value);
  while ((bit /= 2) > 0)
    if (rank + bit < size) peer.send_aside(rank + bit, &value, sizeof value);
}

// No rank returns before all ranks have called it.
template <class Peer>
void meet(Peer& peer) {
  char byte = 0;
  gathered(peer, byte);
  agree(peer, byte);
}

// A line of output (perf/core/report.h reads it).
struct Line {
  // The operation, if a benchmark has several.
  std::string op;
  std::size_t bytes = 0;
  // The microseconds of one operation, one value for each round.
  std::vector<double> us;
  std::vector<std::pair<std::string, std::vector<double>>> values;
  Means means;
};

inline std::string json_of(const std::vector<double>& numbers) {
  std::string text = "[";
  char digits[40];
  for (const double number : numbers) {
    std::snprintf(digits, sizeof digits, "%s%.6g", text.size() == 1 ? "" : ",", number);
    text += digits;
  }
  return text + "]";
}

// Prints the line as JSON. Rank 0 calls it. `provider` names the library that the peer uses.
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
