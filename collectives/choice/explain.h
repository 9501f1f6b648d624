// Explains a choice: which rows are taken, for which bytes, and where they come from. scela-perf
// coll --explain prints it. The functions are pure, and any thread may call them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/choice/choice.h"

namespace scela::collectives {

// A table, and its origin for people: "built in", a file, a variable.
struct Source {
  std::string name;
  Table table;
};

// A row that is taken, the bytes of a message for which it is, and the source that has it.
struct Explained {
  Range bytes;
  Row row;
  const Source* source = nullptr;
};

// Returns the choices for all numbers of bytes, ascending: their ranges follow each other, from 0
// to the most there can be. For each, the first source with a row that fits decides, and its first
// such row. The bytes of `question` are ignored. Results point into `sources`. Ranges that no row
// fits are left out.
std::vector<Explained> explain(std::span<const Source> sources, Question question);

// Returns the choice for this question: the first source that has a row that fits, and the row.
// Returns std::nullopt if there is none. `bytes` of the result has the question's number of bytes
// only, or all if the question has none. The result points into `sources`.
std::optional<Explained> explain_one(std::span<const Source> sources, const Question& question);

// Returns the rows of all sources as one table, in the order of the sources.
Table joined(std::span<const Source> sources);

}  // namespace scela::collectives
