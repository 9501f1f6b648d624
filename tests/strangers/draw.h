// Plans drawn from a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/strangers/stranger_plan.h"

namespace strangers {

struct Wishes {
  std::uint64_t seed = 1;
  int ranks = 2;
  int operations = 1000;  // steps that move something
  int ends = 0;           // ranks that end, at most all but one
  std::vector<scela::ProgressMode> executors{scela::ProgressMode::polled};
};

Plan draw(const Wishes& wishes);

// Returns names of algorithms of an operation, as Collective::algorithm() takes them.
std::vector<const char*> algorithms_of(Operation operation, bool commutes);

}  // namespace strangers
