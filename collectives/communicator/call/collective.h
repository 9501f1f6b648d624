// The contents of a Collective, which is a call as the program made it, and how errors of
// collective operations are made. Communicators use it. A Collective::Inside does not change once
// requests share it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/shape.h"
#include "collectives/include/scela/communicator.h"

namespace scela {

// The arguments of a call. The members that the operation does not have are left at their defaults.
struct Collective::Inside {
  collectives::Operation operation = collectives::Operation::barrier;
  int root = 0;
  ConstBuffer input;
  Buffer output;
  std::optional<Reducer> reducer;  // set if the operation reduces
  bool has_parts = false;          // it is a v form
  std::vector<Part> input_parts;   // by rank, in elements; v forms
  std::vector<Part> output_parts;  // by rank, in elements; v forms
  std::string algorithm;           // as a table's row; empty: by the table
};

namespace collectives {

// Returns the name of the operation, as Collective has it: "gather", "gatherv".
std::string name_of_call(Operation operation, bool has_parts);

// Returns an error with this text. `rank` is the rank at fault in the communicator, or -1 if no
// rank is.
Status error_of(Code code, int rank, std::string message);

}  // namespace collectives
}  // namespace scela
