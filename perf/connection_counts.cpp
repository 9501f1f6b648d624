#include "perf/connection_counts.h"

#include <nlohmann/json.hpp>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/choice/needs.h"
#include "collectives/communicator/tables.h"
#include "common/core/text.h"
#include "perf/choices.h"
#include "perf/core/collective_names.h"

namespace scela::perf {

namespace {

using namespace collectives;
using Chosen = collectives::Row;

Question question_of(const Options& options, Operation operation, std::uint64_t bytes) {
  Question question;
  question.operation = operation;
  question.ranks = options.ranks;
  question.nodes = options.nodes;
  question.bytes = bytes;
  return question;
}

Error cannot(const std::string& what, const Options& options) {
  return {ErrorKind::usage, cat("count whom ranks speak with by ", what), "",
          cat("it cannot be done with ", options.ranks, " ranks on ", options.nodes, " nodes"),
          "name another algorithm, or none"};
}

// Returns the row of the algorithm on the command line.
Result<Chosen> said(const Options& options, const Question& question) {
  const std::string text = cat(name_of(question.operation), " ", options.algorithm);
  const auto table = Table::parse(text, "--algorithm");
  if (!table) return fail(table.error());
  const Chosen* const row = table->find(question);
  if (row == nullptr) return fail(cannot(text, options));
  return *row;
}

// Returns the row that a communicator of this process would choose.
Result<Chosen> chosen_for(const Options& options, const std::vector<Source>& sources,
                          const Question& question) {
  if (!options.algorithm.empty()) return said(options, question);
  const auto one = explain_one(sources, question);
  if (!one) return fail(cannot(std::string(name_of(question.operation)), options));
  return one->row;
}

Result<std::vector<Chosen>> all_of(const Options& options, Operation operation) {
  const Question question = question_of(options, operation, 0);
  std::vector<Chosen> rows;
  if (!options.algorithm.empty()) {
    auto row = said(options, question);
    if (!row) return fail(std::move(row.error()));
    rows.push_back(*row);
    return rows;
  }
  for (const Algorithm& algorithm : algorithms()) {
    Chosen row;
    row.operation = operation;
    row.algorithm = &algorithm;
    if (can(algorithm, question, row.radix)) rows.push_back(row);
  }
  return rows;
}

std::vector<std::pair<std::string, double>> values_of(const Needs& needs) {
  return {{"list_peers", needs.peers},
          {"max_list_peers", needs.max_peers},
          {"max_list_peers_off_node", needs.max_peers_off_node},
          {"list_ranks_off_node", needs.ranks_off_node},
          {"max_list_queue_pairs", needs.max_queue_pairs},
          {"max_list_queue_pairs_off_node", needs.max_queue_pairs_off_node},
          {"max_list_tasks", needs.max_tasks}};
}

std::string line_of(const Options& options, const Chosen& row, const Needs& needs) {
  const std::string operation(name_of(row.operation));
  const std::string algorithm = to_text(row).substr(operation.size() + 1);
  if (options.json) {
    nlohmann::ordered_json object{{"bench", "census"},
                                  {"op", operation},
                                  {"algorithm", algorithm},
                                  {"ranks", options.ranks},
                                  {"nodes", options.nodes}};
    for (const auto& [name, value] : values_of(needs))
      object[name] = value;
    return object.dump() + "\n";
  }
  return cat(column(operation, 16), column(algorithm, 34), column(cat(needs.max_peers), 7),
             column(cat(needs.max_peers_off_node), 10), column(cat(needs.ranks_off_node), 11),
             column(cat(needs.max_queue_pairs), 13),
             column(cat(needs.max_queue_pairs_off_node), 10), needs.max_tasks, "\n");
}

}  // namespace

Result<std::string> counted(const Options& options) {
  std::string text;
  if (!options.json)
    text = cat("# ", options.ranks, " ranks on ", options.nodes,
               options.nodes == 1 ? " node" : " nodes",
               ". The most of any rank, of all roots together; three queue pairs for each peer.\n",
               column("operation", 16), column("algorithm", 34), column("peers", 7),
               column("off node", 10), column("ranks off", 11), column("queue pairs", 13),
               column("off node", 10), "tasks\n");
  std::vector<std::string> names(options.ops);
  if (names.empty()) names.assign(std::begin(kCollectives), std::end(kCollectives));
  for (const std::string& name : names) {
    const Operation operation = *operation_of(name);
    const auto rows = all_of(options, operation);
    if (!rows) return fail(rows.error());
    for (const Chosen& row : *rows)
      text += line_of(options, row, needs_of(row, question_of(options, operation, 0)));
  }
  return text;
}

Result<void> count_lists(const Options& options, std::vector<Row>& rows) {
  const auto sources = sources_of("", environment_of_process());
  if (!sources) return fail(sources.error());
  for (Row& row : rows) {
    if (row.contestant != "scela") continue;
    const Question question = question_of(options, *operation_of(row.op), row.bytes);
    auto chosen = chosen_for(options, *sources, question);
    if (!chosen) return fail(std::move(chosen.error()));
    for (auto& value : values_of(needs_of(*chosen, question)))
      row.values.push_back(std::move(value));
  }
  return {};
}

}  // namespace scela::perf
