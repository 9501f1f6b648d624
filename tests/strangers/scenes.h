// The facts of a plan's steps, found out before anything runs: which ranks each communicator has,
// which ranks have ended by then, and which steps are passed over. All ranks find the same.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/strangers/stranger_plan.h"

namespace strangers {

// A communicator: ranks of the job, in their order there. The functions split() and node() make
// several, of which no two have a rank in common.
using Group = std::vector<int>;
using Groups = std::vector<Group>;
// Returns null if the rank is in none.
const Group* group_of(const Groups& groups, int rank);
int place_in(const Group& group, int rank);  // -1: it is not there

// A rank that an `end` step names.
struct Leaver {
  int rank = 0;
  Ending ending = Ending::kill;
  std::uint64_t at = 0;    // before this step
  bool recovered = false;  // the others have recovered from it
};

struct Scene {
  const Step* step = nullptr;
  bool takes_place = false;
  // A rank is about to end, or has ended and the others have not recovered. What that rank takes
  // part in may fail, with its name.
  bool fragile = false;
  Groups groups;           // of the communicator that it is about
  Groups makes;            // the communicator that it makes
  std::vector<int> frees;  // of recover: communicators
  std::vector<Leaver> leavers;

  bool has_ended(int rank) const;
  // Returns true if an operation or a message with this rank may fail.
  bool endangers(int rank) const;
  bool endangers(const Group& group) const;
  // Messages of fragile scenes have contexts of their own, where no receive has a wildcard.
  int context() const;
  Pattern pattern() const { return fragile ? Pattern::exact : step->pattern; }
};

// `nodes`: the node of each rank.
std::vector<Scene> scenes_of(const Plan& plan, const std::vector<int>& nodes);

// Returns how many ranks of the plan end before it does.
int ends_of(const std::vector<Scene>& scenes);

}  // namespace strangers
