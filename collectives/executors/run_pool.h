// Runs that come and go often: an operation that was run before allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/executors/run.h"

namespace scela::collectives {

// Not for two threads at once. Its runs are over when it ends.
class RunPool {
 public:
  // Given out as they came back, so that the memory of the last is used again first.
  Run& take() {
    if (free_ == nullptr) {
      runs_.push_back(std::make_unique<Run>());
      return *runs_.back();
    }
    Run* const run = free_;
    free_ = run->next_free;
    return *run;
  }
  void give_back(Run& run) {
    run.next_free = free_;
    free_ = &run;
  }
  struct Returner {
    RunPool* pool = nullptr;
    void operator()(Run* run) const { pool->give_back(*run); }
  };
  // One that is somebody's for longer.
  using Kept = std::unique_ptr<Run, Returner>;
  Kept keep() { return Kept(&take(), Returner{this}); }
  std::size_t size() const { return runs_.size(); }

 private:
  std::vector<std::unique_ptr<Run>> runs_;
  Run* free_ = nullptr;
};

}  // namespace scela::collectives
