#include "tests/unit/collectives/executors/executor_ranks.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::collectives::test {

namespace {
constexpr std::uint64_t kSeedOfBytes = 7;
}  // namespace

Ranks::Ranks(int ranks, std::uint64_t seed)
    : network_(ranks, seed), random_(seed + 1), dead_(static_cast<std::size_t>(ranks), false) {
  for (int rank = 0; rank < ranks; ++rank)
    transports_.push_back(network_.transport(rank));
}

std::size_t Ranks::add(const Case& one) {
  UnderWay& operation = operations_.emplace_back();
  operation.kind = one.shape.operation;
  const auto tag = static_cast<std::uint32_t>(operations_.size() - 1);
  for (int rank = 0; rank < ranks(); ++rank) {
    operation.members.push_back(std::make_unique<Member>(one, rank, kSeedOfBytes + tag));
    operation.runs.push_back(std::make_unique<Run>());
    const auto bound = operation.runs.back()->bind(operation.members.back()->call({0, tag}));
    if (!bound && fault_.empty()) fault_ = cat(text(one), ": ", bound.error().text());
  }
  operation.begun.assign(static_cast<std::size_t>(ranks()), false);
  return tag;
}

void Ranks::get_on(UnderWay& operation, std::size_t rank) {
  Run& run = *operation.runs[rank];
  if (!operation.begun[rank]) {
    run.begin(*transports_[rank]);
    operation.begun[rank] = true;
    if (random_.chance(1, 2)) run.try_fast_path();
  } else if (run.is_over()) {
    return;
  }
  if ((!run.is_over() && run.advance()) || operation.kind != Operation::barrier) return;
  const bool all = std::ranges::find(operation.begun, false) == operation.begun.end();
  if (!all && run.error() == nullptr && fault_.empty())
    fault_ = cat("rank ", rank, " has left a barrier that not all have entered");
}

void Ranks::step() {
  for (std::size_t i = 0; i < transports_.size(); ++i) {
    const std::size_t rank = random_.below(transports_.size());
    UnderWay& operation = operations_[random_.below(operations_.size())];
    if (!dead_[rank] && random_.chance(1, 2)) get_on(operation, rank);
  }
  for (std::uint64_t i = random_.below(transports_.size() + 1); i > 0; --i)
    network_.deliver();
}

bool Ranks::all_over() const {
  for (const UnderWay& operation : operations_)
    for (std::size_t rank = 0; rank < dead_.size(); ++rank)
      if (!dead_[rank] && !(operation.begun[rank] && operation.runs[rank]->is_over())) return false;
  return true;
}

std::string Ranks::run() {
  if (!fault_.empty()) return fault_;
  while (!all_over()) {
    step();
    if (network_.deliver()) continue;
    // Each rank that can advance does so. If none begins a message by that, none ever will.
    const std::uint64_t before = network_.begun();
    for (UnderWay& operation : operations_)
      for (std::size_t rank = 0; rank < dead_.size(); ++rank)
        if (!dead_[rank]) get_on(operation, rank);
    if (!network_.deliver() && network_.begun() == before && !all_over())
      return "some wait for ever";
  }
  return fault_;
}

void Ranks::kill(int rank) {
  dead_[static_cast<std::size_t>(rank)] = true;
  network_.kill(rank);
}

std::string Ranks::wrong() const {
  for (const UnderWay& operation : operations_) {
    for (std::size_t rank = 0; rank < operation.members.size(); ++rank) {
      if (const RunError* const error = operation.runs[rank]->error())
        return cat("rank ", rank, " has an error: ", error->text());
      std::string wrong = operation.members[rank]->wrong();
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

}  // namespace scela::collectives::test
