// What every loop needs of a contestant (loops.h): a clock, and how its ranks act at one time.
//
// Standard library only: it is compiled by mpicxx of each peer.
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
  double round_seconds = 0.01;  // about
  int window = 64;              // messages under way, of bandwidth and rate
  std::string pattern = "all";  // memory: who speaks with whom
  double delay_seconds = 0.1;   // noise
  long driver = 0;              // the process that has started the job
  bool apart = false;           // all ranks share a processor
  // Of coll:
  std::vector<std::string> ops;
  std::string algorithm;              // empty: the contestant's choice
  std::string executor = "polled";    // of core/collectives.h
  int concurrent = 1;                 // operations under way at once
  std::vector<std::size_t> progress;  // helped on once every so many bytes: a figure for each
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Rank 0 gets everybody's, in order. By a tree whose edges every pattern has (core/patterns.h), so
// that nobody speaks with others for this.
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

// Rank 0's, for all, by the same tree.
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

// Nobody goes on before everybody is here.
template <class Peer>
void meet(Peer& peer) {
  char byte = 0;
  gathered(peer, byte);
  agree(peer, byte);
}

// What a line of output says (core/report.h reads it).
struct Line {
  std::string op;  // what was done, where a benchmark does several things
  std::size_t bytes = 0;
  std::vector<double> us;  // of one operation; one for each round
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
