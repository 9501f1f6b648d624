// A job in one process. Each rank is a thread with an executor of one kind, over messages of one
// kind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/executors/factory.h"
#include "tests/support/memory_network.h"

namespace scela::collectives::test {

enum class Messages : unsigned char { memory, channel };
std::string_view name_of(Messages messages);

class Job {
 public:
  Job(ExecutorKind kind, Messages messages, int ranks);
  ~Job();

  // Each rank calls the body in a thread of its own. A body returns what went wrong, and run()
  // returns the first of these texts.
  using Body = std::function<std::string(int rank, Executor& executor)>;
  std::string run(const Body& body);
  int ranks() const { return ranks_; }
  // kill() treats the rank as if its process had been killed. Its executor does nothing any more.
  bool can_kill() const { return network_ != nullptr; }
  void kill(int rank) { network_->kill(rank); }

 private:
  struct Channels;

  std::unique_ptr<Transport> transport(int rank);

  int ranks_;
  std::unique_ptr<MemoryNetwork> network_;
  std::unique_ptr<Channels> channels_;
  std::vector<std::unique_ptr<Executor>> polled_;     // below those of kind inline
  std::vector<std::unique_ptr<Executor>> executors_;  // by rank
};

}  // namespace scela::collectives::test
