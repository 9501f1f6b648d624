// Which rows are taken, for which bytes, and where they come from.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/choice/choice.h"

namespace scela::collectives {

// Rows, and who gave them: "built in", a file, a variable.
struct Source {
  std::string name;
  Table table;
};

// Of one run of sizes that have the same row.
struct Explained {
  Range bytes;
  Row row;
  const Source* source = nullptr;
};

// What the tables, the first of which has a row that fits, choose for each number of bytes: ranges
// that follow each other from 0 to the most there can be. Bytes of `question` do not matter.
std::vector<Explained> explain(std::span<const Source> sources, Question question);

// The first source with a row that fits, and the row.
std::optional<Explained> explain_one(std::span<const Source> sources, const Question& question);

// All rows as one table.
Table joined(std::span<const Source> sources);

}  // namespace scela::collectives
