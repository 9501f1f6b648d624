// Explains a choice: which rows are taken, for which bytes, and where they come from. scela-perf
// coll --explain prints it. The functions are pure, and any thread may call them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/choice/choice.h"

namespace scela::collectives {

// A table and where it came from: "built in", a file, a variable.
struct Source {
  std::string name;
  Table table;
};

// A row that is taken, and the bytes of a message for which it is.
struct Explained {
  Range bytes;
  Row row;
  const Source* source = nullptr;
};

// Returns what the tables choose for each number of bytes; the first table that has a row that fits
// decides. The ranges follow each other, from 0 to the most there can be. The bytes of `question`
// are ignored. Results point into `sources`.
std::vector<Explained> explain(std::span<const Source> sources, Question question);

// Returns the first source that has a row for the question, and the row; std::nullopt if there is
// none. `bytes` of the result are those of the question. The result points into `sources`.
std::optional<Explained> explain_one(std::span<const Source> sources, const Question& question);

// Returns the rows of all sources as one table, in the order of the sources.
Table joined(std::span<const Source> sources);

}  // namespace scela::collectives
