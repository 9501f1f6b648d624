// The collective operations that can be measured, by name. perf/'s options, loops and peers use it.
//
// The functions are pure. The file uses only the standard library, because the peers are compiled
// with it too.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace scela::perf {

// The operations, as MPI names them (reduce_scatter is MPI_Reduce_scatter_block).
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
// The names of the operations, in the order of CollectiveOp.
inline constexpr std::string_view kCollectives[] = {
    "barrier",   "bcast",    "reduce",         "allreduce", "gather", "scatter",
    "allgather", "alltoall", "reduce_scatter", "scan",      "exscan"};
// The names of the executors, which say what moves a non-blocking operation on. at_once: the call
// that begins it carries it out. polled: the caller, in test and wait. thread: a thread of its own.
// engine: the adapter's engine.
inline constexpr std::string_view kExecutors[] = {"at_once", "polled", "thread", "engine"};

// Stores the operation of this name in `op`. Returns false, and leaves `op` as it is, if there is
// none.
inline bool collective_named(std::string_view name, CollectiveOp& op) {
  for (std::size_t i = 0; i < std::size(kCollectives); ++i)
    if (kCollectives[i] == name) {
      op = static_cast<CollectiveOp>(i);
      return true;
    }
  return false;
}

// Returns true if one rank, the root, has another part than the others.
constexpr bool has_root(CollectiveOp op) {
  return op == CollectiveOp::bcast || op == CollectiveOp::reduce || op == CollectiveOp::gather ||
         op == CollectiveOp::scatter;
}

// Returns how often a computation beside an operation of `bytes` bytes advances it, if it does so
// once every `every` bytes (N5: NBCBench's progress). Returns 0 if `every` is 0.
constexpr std::size_t progress_calls(std::size_t bytes, std::size_t every) {
  return every == 0 ? 0 : bytes / every;
}

// The name of a figure of progress has the number of bytes between these:
// "overlapped_every_1024_us".
inline constexpr const char* kHelpedBegins = "overlapped_every_";
inline constexpr const char* kHelpedEnds = "_us";

// The executor and algorithm that an operation used, if a contestant reports them.
struct ExecutorAndAlgorithm {
  std::string executor, algorithm;
};

// The arguments of one call. `bytes` is the length of the message; for gather, scatter, allgather,
// alltoall and reduce_scatter it is that of one rank's block. `root` is a rank. `in` and `out` have
// room for a block of each rank.
struct CollectiveCall {
  CollectiveOp op = CollectiveOp::barrier;
  std::size_t bytes = 0;
  int root = 0;
  const char* in = nullptr;
  char* out = nullptr;
};

}  // namespace scela::perf
