#include "nla/core/job/launch_report.h"

#include <algorithm>
#include <utility>

namespace scela::nla {

bool LaunchReport::from_child(Child& child, const msg::Launched& message) {
  // An adopted agent may say again what its lost parent has passed on.
  if (!std::exchange(child.launched, true)) below_ += message.ranks;
  return true;
}

void LaunchReport::advance() {
  if (sent_) return;
  const bool children_launched =
      std::all_of(children_.all().begin(), children_.all().end(),
                  [](const Child& child) { return child.launched || !child.serving(); });
  if (!children_launched ||
      !verdicts_.open(first_ranks(context_.own_ranks)).minus(processes_.started()).empty()) {
    return;
  }
  sent_ = true;
  send();
}

void LaunchReport::repeat_to_parent() {
  if (sent_) send();
}

void LaunchReport::send() {
  const auto total = static_cast<std::uint32_t>(first_ranks(processes_.started()).size()) + below_;
  if (context_.is_root()) {
    context_.act(action::AllLaunched{total});
    input_.start();
  } else {
    context_.send_up(msg::Launched{total});
  }
}

RankSet LaunchReport::first_ranks(const RankSet& ranks) const {
  return context_.job->worlds.empty() ? ranks : ranks.intersection(context_.job->ranks_of_world(0));
}

}  // namespace scela::nla
