#include "nla/core/pmix/pmix_questions.h"

#include <algorithm>

namespace scela::nla {

void PmixQuestions::ask(PmixQuestion question, Request request) {
  const RequestId number = next_++;
  const Rank rank = question.rank;
  open_.emplace(number, std::move(question));
  ask_(rank, number, std::move(request));
}

std::optional<PmixQuestion> PmixQuestions::take(RequestId number) {
  auto at = open_.extract(number);
  if (at.empty()) return std::nullopt;
  return std::move(at.mapped());
}

std::vector<PmixQuestion> PmixQuestions::take_of(Rank rank) {
  std::vector<PmixQuestion> out;
  for (auto at = open_.begin(); at != open_.end();) {
    const auto one = at++;
    if (one->second.rank == rank) out.push_back(std::move(open_.extract(one).mapped()));
  }
  return out;
}

void PmixQuestions::give_up(pmix::Id id) {
  const auto at = std::ranges::find_if(
      open_, [&](const auto& one) { return one.second.id == id && !one.second.name.empty(); });
  if (at == open_.end()) return;
  at->second.refused = pmix::Status::timed_out;
  ask_(at->second.rank, at->first, ask::Name{NameAct::give_up, at->second.name});
}

std::size_t PmixQuestions::count(Rank rank, pmix::Status refused) const {
  return static_cast<std::size_t>(std::ranges::count_if(open_, [&](const auto& one) {
    return one.second.rank == rank && one.second.refused == refused;
  }));
}

}  // namespace scela::nla
