// The contents of a Collective, and how errors of collective operations are made. Communicators use
// it. A Collective::Inside does not change once requests share it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/shape.h"
#include "collectives/include/scela/communicator.h"

namespace scela {

struct Collective::Inside {
  collectives::Operation operation = collectives::Operation::barrier;
  int root = 0;
  ConstBuffer input;
  Buffer output;
  std::optional<Reducer> reducer;
  bool has_parts = false;  // a v form
  std::vector<Part> input_parts;
  std::vector<Part> output_parts;
  std::string algorithm;  // empty: the table chooses
};

namespace collectives {

// Returns the name of the operation, as Collective has it: "gather", "gatherv".
std::string name_of_call(Operation operation, bool has_parts);

// Returns an error with this text. `rank` is the rank at fault in the communicator, or -1 if no
// rank is.
Status error_of(Code code, int rank, std::string message);

}  // namespace collectives
}  // namespace scela
