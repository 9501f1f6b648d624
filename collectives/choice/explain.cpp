#include "collectives/choice/explain.h"

#include <set>

namespace scela::collectives {

std::optional<Explained> explain_one(std::span<const Source> sources, const Question& question) {
  for (const Source& source : sources)
    if (const Row* const row = source.table.find(question); row != nullptr)
      return Explained{question.bytes ? Range{*question.bytes, *question.bytes} : Range{}, *row,
                       &source};
  return std::nullopt;
}

std::vector<Explained> explain(std::span<const Source> sources, Question question) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  // Another row can be taken only at sizes at which some row's range begins or has ended.
  std::set<std::uint64_t> begins{0};
  for (const Source& source : sources)
    for (const Row& row : source.table.rows()) {
      if (row.operation != question.operation) continue;
      begins.insert(row.bytes.least);
      if (row.bytes.most != kMax) begins.insert(row.bytes.most + 1);
    }
  std::vector<Explained> all;
  for (auto begin = begins.begin(); begin != begins.end(); ++begin) {
    const auto next = std::next(begin);
    question.bytes = *begin;
    auto one = explain_one(sources, question);
    if (!one) continue;
    one->bytes = {*begin, next == begins.end() ? kMax : *next - 1};
    const bool same = !all.empty() && all.back().source == one->source &&
                      all.back().row == one->row && all.back().bytes.most + 1 == *begin;
    if (same)
      all.back().bytes.most = one->bytes.most;
    else
      all.push_back(std::move(*one));
  }
  return all;
}

Table joined(std::span<const Source> sources) {
  Table table;
  for (std::size_t i = sources.size(); i-- > 0;)
    table.put_before(sources[i].table);
  return table;
}

}  // namespace scela::collectives
