#include "perf/choices.h"

#include <vector>

#include "collectives/communicator/tables.h"
#include "common/core/text.h"
#include "perf/core/collective_names.h"

namespace scela::perf {

namespace {

using namespace collectives;

// Returns the row without its conditions.
std::string algorithm_of(const Row& row) {
  Row bare = row;
  bare.ranks = bare.nodes = bare.per_node = bare.bytes = Range{};
  return to_text(bare).substr(name_of(row.operation).size() + 1);
}

std::string line_of(Operation operation, const std::string& bytes, const Explained& choices_text,
                    const Question& question) {
  std::string algorithm = algorithm_of(choices_text.row);
  if (const std::uint32_t segments = choice_of(choices_text.row, question).segments; segments > 1)
    algorithm += cat(", ", segments, " segments");
  return cat(
      column(std::string(name_of(operation)), 16), column(bytes, 18),
      column(std::move(algorithm), 34), column(choices_text.source->name, 20),
      choices_text.source->name == variable_of(operation) ? "the call" : variable_of(operation),
      "\n");
}

}  // namespace

Result<std::string> choices_text(const Options& options) {
  const auto sources = sources_of("", environment_of_process());
  if (!sources) return fail(sources.error());
  std::string text =
      cat("# ", options.ranks, " ranks on ", options.nodes, options.nodes == 1 ? " node" : " nodes",
          ". Bytes are those of a message, or of one rank's block. What overrides "
          "all: the call's own\n# word (Collective::algorithm); then SCELA_COLL_OPERATION, "
          "the file SCELA_COLL_TABLE, CommunicatorOptions::table.\n",
          column("operation", 16), column("bytes", 18), column("algorithm", 34), column("from", 20),
          "overridden by\n");
  std::vector<std::string> names(options.ops);
  if (names.empty()) names.assign(std::begin(kCollectives), std::end(kCollectives));
  for (const std::string& name : names) {
    Question question;
    question.operation = *operation_of(name);
    question.ranks = options.ranks;
    question.nodes = options.nodes;
    if (options.sizes.empty() || question.operation == Operation::barrier) {
      for (const Explained& each : explain(*sources, question))
        text += line_of(question.operation, to_text(each.bytes), each, question);
      continue;
    }
    for (const std::size_t bytes : options.sizes) {
      question.bytes = bytes;
      if (const auto one = explain_one(*sources, question))
        text += line_of(question.operation, to_text(Range{bytes, bytes}), *one, question);
    }
  }
  return text;
}

}  // namespace scela::perf
