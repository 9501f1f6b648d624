// All ranks of an operation in one thread: each gets on in an order of the seed's, and messages
// arrive in one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/executors/run.h"
#include "common/core/random.h"
#include "tests/support/collective_case.h"
#include "tests/support/memory_network.h"

namespace scela::collectives::test {

class Ranks {
 public:
  Ranks(int ranks, std::uint64_t seed);

  // One more operation at the same time; its number.
  std::size_t add(const Case& one);
  // Every rank in all operations, until nothing gets on any more. Empty: all are over, and none of
  // a barrier before all had begun.
  std::string run();
  // Some of it only.
  void step();

  int ranks() const { return static_cast<int>(transports_.size()); }
  MemoryNetwork& network() { return network_; }
  Run& run_of(std::size_t operation, int rank) {
    return *operations_[operation].runs[static_cast<std::size_t>(rank)];
  }
  Member& member(std::size_t operation, int rank) {
    return *operations_[operation].members[static_cast<std::size_t>(rank)];
  }
  // It begins and does nothing from now on.
  void kill(int rank);
  // Empty: no rank has an error, and all bytes are right.
  std::string wrong() const;

 private:
  struct UnderWay {
    Operation kind = Operation::barrier;
    std::vector<std::unique_ptr<Member>> members;
    std::vector<std::unique_ptr<Run>> runs;
    std::vector<bool> begun;
  };

  void get_on(UnderWay& operation, std::size_t rank);
  bool all_over() const;

  MemoryNetwork network_;
  Random random_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<bool> dead_;
  std::vector<UnderWay> operations_;  // before the transports in going
  std::string fault_;
};

}  // namespace scela::collectives::test
