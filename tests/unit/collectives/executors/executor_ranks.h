// Runs all ranks of an operation in one thread. The seed decides in which order the ranks advance
// and messages arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/executors/run/run.h"
#include "common/core/random.h"
#include "tests/support/collective_case.h"
#include "tests/support/memory_network.h"

namespace scela::collectives::test {

class Ranks {
 public:
  Ranks(int ranks, std::uint64_t seed);

  // Adds an operation that runs at the same time as the others, and returns its number.
  std::size_t add(const Case& one);
  // Advances every rank in all operations until none can advance. Returns an empty text if all are
  // over and no rank has left a barrier before all had entered it.
  std::string run();
  // Advances some ranks once, and delivers some messages.
  void step();

  int ranks() const { return static_cast<int>(transports_.size()); }
  MemoryNetwork& network() { return network_; }
  Run& run_of(std::size_t operation, int rank) {
    return *operations_[operation].runs[static_cast<std::size_t>(rank)];
  }
  Member& member(std::size_t operation, int rank) {
    return *operations_[operation].members[static_cast<std::size_t>(rank)];
  }
  // The rank does nothing from now on.
  void kill(int rank);
  // Returns an empty text if no rank has an error and all bytes are right.
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
  std::vector<UnderWay> operations_;  // destroyed before the transports
  std::string fault_;
};

}  // namespace scela::collectives::test
