// The collective operations that can be measured, by name.
//
// The functions are pure. The file uses only the standard library, because the peers are compiled
// with it too.
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

// Returns false if there is no operation of this name.
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

// Returns how often a computation beside an operation of `bytes` bytes advances it, if it does so
// once every `every` bytes (N5: NBCBench's progress).
constexpr std::size_t progress_calls(std::size_t bytes, std::size_t every) {
  return every == 0 ? 0 : bytes / every;
}

// The name of a figure of progress, with the number of bytes in between.
inline constexpr const char* kHelpedBegins = "overlapped_every_";
inline constexpr const char* kHelpedEnds = "_us";

// The executor and algorithm that an operation used, if a contestant reports them.
struct Means {
  std::string executor, algorithm;
};

// The arguments of one call. `bytes` is the length of the message; for gather, scatter, allgather,
// alltoall and reduce_scatter it is that of one rank's block. `in` and `out` have room for a block
// of each rank.
struct Asked {
  CollectiveOp op = CollectiveOp::barrier;
  std::size_t bytes = 0;
  int root = 0;
  const char* in = nullptr;
  char* out = nullptr;
};

}  // namespace scela::perf
