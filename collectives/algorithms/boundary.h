// The boundary in a rank's list between the levels of a tree that are nearest the leaves and the
// others. Tree algorithms use it while they write a list. It belongs to the writer's thread.
#pragma once

#include "collectives/algorithms/writer.h"

namespace scela::collectives {

// Writes a signal, and before it waits for all earlier sends, at the first call of reach(). So the
// tasks before it and those behind it can be run as lists of their own.
class Boundary {
 public:
  // The writer must outlive the object. If `is_split` is false, no levels are split off and reach()
  // writes nothing.
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
