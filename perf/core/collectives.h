// Collective operations that are measured, by name.
//
// Standard library only: peers are compiled with it too.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace scela::perf {

enum class CollectiveOp : unsigned char {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
  scan,
  exscan,
};
inline constexpr std::string_view kCollectives[] = {
    "barrier",   "bcast",    "reduce",         "allreduce", "gather", "scatter",
    "allgather", "alltoall", "reduce_scatter", "scan",      "exscan"};
inline constexpr std::string_view kExecutors[] = {"at_once", "polled", "thread", "engine"};

// False: there is none of this name.
inline bool collective_named(std::string_view name, CollectiveOp& op) {
  for (std::size_t i = 0; i < std::size(kCollectives); ++i)
    if (kCollectives[i] == name) {
      op = static_cast<CollectiveOp>(i);
      return true;
    }
  return false;
}

constexpr bool has_root(CollectiveOp op) {
  return op == CollectiveOp::bcast || op == CollectiveOp::reduce || op == CollectiveOp::gather ||
         op == CollectiveOp::scatter;
}

// How often a computation beside an operation of so many bytes helps it on, where it does so once
// every `every` bytes (N5: NBCBench's progress).
constexpr std::size_t progress_calls(std::size_t bytes, std::size_t every) {
  return every == 0 ? 0 : bytes / every;
}

// What a figure of progress is called: with the bytes in between.
inline constexpr const char* kHelpedBegins = "overlapped_every_";
inline constexpr const char* kHelpedEnds = "_us";

// What an operation was done by, where a contestant says so.
struct Means {
  std::string executor, algorithm;
};

// What one call is about. Bytes are those of the message; of gather, scatter, allgather, alltoall
// and reduce_scatter those of one rank's block. `in` and `out` have room for a block of each rank.
struct Asked {
  CollectiveOp op = CollectiveOp::barrier;
  std::size_t bytes = 0;
  int root = 0;
  const char* in = nullptr;
  char* out = nullptr;
};

}  // namespace scela::perf
