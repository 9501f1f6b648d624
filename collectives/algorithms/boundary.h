// The boundary in a rank's list between the levels of a tree that are nearest the leaves and the
// others. Tree algorithms use it while they write a list. It belongs to the writer's thread.
#pragma once

#include "collectives/algorithms/writer.h"

namespace scela::collectives {

// Writes a signal after waits for all earlier sends, so that what stands before it and behind it
// are lists of their own (stages.h). If no levels are split off, it writes nothing.
class Boundary {
 public:
  Boundary(Writer& list, bool is_split) : list_(list), is_open_(is_split) {}
  // Writes the boundary at the first call; later calls do nothing.
  void reach() {
    if (!is_open_) return;
    is_open_ = false;
    list_.wait_all_sent();
    list_.signal();
  }

 private:
  Writer& list_;
  bool is_open_;
};

}  // namespace scela::collectives
