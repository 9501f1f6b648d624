// Where the levels of a tree that are nearest the leaves begin or end in a rank's list.
#pragma once

#include "collectives/algorithms/writer.h"

namespace scela::collectives {

// A signal, with all sends before it waited for, so that what stands before it and behind it are
// lists of their own (stages.h). Nothing where no levels are split off.
class Boundary {
 public:
  Boundary(Writer& list, bool is_split) : list_(list), is_open_(is_split) {}
  // The first call counts.
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
