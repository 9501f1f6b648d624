// The meaning of a node set text: the terms that nodeset_reader finds, evaluated from left to
// right.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "common/core/nodeset/nodeset.h"
#include "common/core/nodeset/nodeset_build.h"
#include "common/core/nodeset/nodeset_index.h"
#include "common/core/nodeset/nodeset_reader.h"
#include "common/core/text.h"

namespace scela {

using nodeset::Builder;
using nodeset::IndexKey;
using nodeset::Operator;
using nodeset::Piece;
using nodeset::Reader;
using nodeset::Term;

namespace {

// Returns true if a bracket stands beside digits, as in n1[0-9] or n[0-9]0. Its numbers are then
// parts of an index, not indices.
bool has_joined_number(const Term& term) {
  bool after_bracket = false;
  for (const Piece& piece : term.pieces) {
    const std::string_view text = piece.literal;
    if (!text.empty() && after_bracket && nodeset::is_digit(text.front())) return true;
    after_bracket = !piece.ranges.empty();
    if (!text.empty() && after_bracket && nodeset::is_digit(text.back())) return true;
  }
  return false;
}

void add_term(Builder& builder, const Term& term) {
  if (term.plain()) {
    builder.add_name(term.pieces[0].literal);
    return;
  }
  if (has_joined_number(term)) {
    term.for_each_name([&](const std::string& name) { builder.add_name(name); });
    return;
  }
  std::string pattern;
  std::vector<std::vector<IndexKey>> lists;
  std::vector<std::vector<IndexKey>> brackets = term.lists();
  std::size_t bracket = 0;
  for (const Piece& piece : term.pieces) {
    std::vector<IndexKey> fixed;
    nodeset::split_name(piece.literal, pattern, fixed);
    for (const IndexKey key : fixed)
      lists.push_back({key});
    if (piece.ranges.empty()) continue;
    pattern += nodeset::kIndexMark;
    lists.push_back(std::move(brackets[bracket++]));
  }
  builder.add_product(pattern, lists);
}

std::string limit_passed(std::size_t max_nodes) {
  return cat("with these, the text has more nodes than the limit of ", max_nodes);
}

// Counts the different nodes only when their number may have passed the limit. After that it does
// not count again for every node that follows.
class LimitGuard {
 public:
  explicit LimitGuard(std::size_t max_nodes) : max_nodes_(max_nodes), next_check_(max_nodes) {}

  bool allows(Builder& builder) {
    if (builder.raw_count() <= next_check_) return true;
    builder.compact();
    next_check_ = std::max(max_nodes_, builder.raw_count() + max_nodes_ / 8);
    return builder.raw_count() <= max_nodes_;
  }

 private:
  std::size_t max_nodes_;
  std::size_t next_check_;
};

}  // namespace

Result<NodeSet> NodeSet::parse(std::string_view text, std::size_t max_nodes) {
  Reader reader(text, max_nodes);
  NodeSet result;
  // Neighbouring unions are gathered and applied as one, and so are neighbouring differences. A
  // list of n names thus costs n log n.
  Builder batch;
  LimitGuard guard(max_nodes);
  Operator op = Operator::unite;
  const auto flush = [&] {
    guard = LimitGuard(max_nodes);
    NodeSet set = batch.finish();
    switch (op) {
      case Operator::unite:
        result = result.empty() ? std::move(set)
                                : combine(std::move(result), std::move(set), {true, true, true});
        break;
      case Operator::subtract:
        result = combine(std::move(result), std::move(set), {true, false, false});
        break;
      case Operator::intersect:
        result = combine(std::move(result), std::move(set), {false, true, false});
        break;
      case Operator::differ:
        result = combine(std::move(result), std::move(set), {true, false, true});
        break;
    }
    return result.size() <= max_nodes;
  };
  Term term;
  std::size_t last_position = 0;
  for (;;) {
    const Result<bool> more = reader.next(term);
    if (!more) return fail(more.error());
    const bool gathers = op == Operator::unite || op == Operator::subtract;
    if (!*more || term.op != op || !gathers) {
      if (!flush()) return fail(reader.error_at(last_position, limit_passed(max_nodes)));
      op = term.op;
    }
    if (!*more) return result;
    add_term(batch, term);
    last_position = term.position;
    if (!guard.allows(batch)) return fail(reader.error_at(last_position, limit_passed(max_nodes)));
  }
}

Result<std::vector<std::string>> expand_ordered(std::string_view text, std::size_t max_nodes) {
  Reader reader(text, max_nodes);
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  Term term;
  for (;;) {
    const Result<bool> more = reader.next(term);
    if (!more) return fail(more.error());
    if (!*more) return names;
    if (term.op != Operator::unite) break;
    term.for_each_name([&](const std::string& name) {
      if (seen.insert(name).second) names.push_back(name);
    });
    if (names.size() > max_nodes) {
      return fail(reader.error_at(term.position, limit_passed(max_nodes)));
    }
  }
  const Result<NodeSet> set = NodeSet::parse(text, max_nodes);
  if (!set) return fail(set.error());
  return set->expand();
}

}  // namespace scela
