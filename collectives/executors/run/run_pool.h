// A pool of runs, so that an operation that was run before allocates nothing. Communicators use it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/executors/run/run.h"

namespace scela::collectives {

// Owns all runs that it has made. Two threads must not use a pool at once. All runs must be over
// when the pool is destroyed.
class RunPool {
 public:
  // Returns a run for the caller's use until give_back(). It is the run that came back last, so
  // that its memory is used again first; or a new one if none is free. Throws std::bad_alloc.
  Run& take() {
    if (free_ == nullptr) {
      runs_.push_back(std::make_unique<Run>());
      return *runs_.back();
    }
    Run* const run = free_;
    free_ = run->next_free;
    return *run;
  }
  // Takes back a run of take(), which must be over.
  void give_back(Run& run) {
    run.next_free = free_;
    free_ = &run;
  }
  // Gives a run back to the pool when its Kept is destroyed.
  struct Returner {
    RunPool* pool = nullptr;
    void operator()(Run* run) const { pool->give_back(*run); }
  };
  // A run that its owner keeps for several operations; it goes back to the pool when the owner
  // drops it.
  using Kept = std::unique_ptr<Run, Returner>;
  // Takes a run to keep. The pool must outlive it. Throws std::bad_alloc.
  Kept keep() { return Kept(&take(), Returner{this}); }
  // Returns how many runs the pool has made, free or not.
  std::size_t size() const { return runs_.size(); }

 private:
  std::vector<std::unique_ptr<Run>> runs_;
  Run* free_ = nullptr;
};

}  // namespace scela::collectives
