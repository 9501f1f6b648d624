// A pool of runs, so that an operation that was run before allocates nothing. Communicators use it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/executors/run/run.h"

namespace scela::collectives {

// Two threads must not use a pool at once. Its runs must be over when it is destroyed.
class RunPool {
 public:
  // Returns the run that came back last, so that its memory is used again first.
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
  // A run that its owner keeps; it goes back to the pool when the owner drops it.
  using Kept = std::unique_ptr<Run, Returner>;
  Kept keep() { return Kept(&take(), Returner{this}); }
  std::size_t size() const { return runs_.size(); }

 private:
  std::vector<std::unique_ptr<Run>> runs_;
  Run* free_ = nullptr;
};

}  // namespace scela::collectives
