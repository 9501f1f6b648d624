#include "nla/core/job/verdict_reports.h"

#include <utility>

namespace scela::nla {

namespace {

// A subtree may send this many bytes of Outcome::why for each of its nodes. Later outcomes lose
// that text. If it were larger, a compromised node with many spawned ranks could take more memory.
constexpr std::uint64_t kMaxWhyOfNode = std::uint64_t{1024} * 1024;

}  // namespace

Outcome with_bounded_why(Child& child, const Outcome& said) {
  Outcome outcome = with_short_why(said);
  child.why_bytes += outcome.why.size();
  if (child.why_bytes > kMaxWhyOfNode * child.slice.size()) outcome.why.clear();
  return outcome;
}

bool VerdictReports::from_child(Child& child, const msg::Verdicts& message) {
  if (!context_.job) return false;
  for (const auto& [outcome, ranks] : message.groups) {
    if (!child.ranks.contains_all(ranks)) return false;
    verdicts_.record(ranks, with_bounded_why(child, outcome));
  }
  if (!verdicts_.open(child.ranks).empty()) {
    child.some_ended = true;
    services_.child_has_ended_ranks();
    return true;
  }
  child.ended_ranks = true;
  services_.child_ended(child);
  input_.child_ended();
  return true;
}

void VerdictReports::expect_more() {
  if (sent_ == VerdictsSent::first_all) sent_ = VerdictsSent::first;
  if (sent_ == VerdictsSent::all_at_once) sent_ = VerdictsSent::none;
}

bool VerdictReports::advance(bool launched, bool terminating) {
  // The parent must know that there are ended ranks here (see Collectives); at most once a subtree.
  if (sent_ == VerdictsSent::none && !terminating && !verdicts_.none() && !verdicts_.complete()) {
    sent_ = VerdictsSent::first;
    if (!context_.is_root()) send();
  }
  if (sent_ >= VerdictsSent::first_all || !launched || !verdicts_.complete()) return false;
  sent_ = sent_ == VerdictsSent::first ? VerdictsSent::first_all : VerdictsSent::all_at_once;
  if (context_.is_root()) return true;
  send();
  return false;
}

void VerdictReports::send() {
  constexpr std::size_t kRangeBytes = 10;  // two varints of a rank
  constexpr std::size_t kOutcomeBytes = 32;
  constexpr std::size_t kMax = kMaxPiece / 2;
  msg::Verdicts message;
  std::size_t size = 0;
  for (const auto& group : verdicts_.groups()) {
    const Outcome& outcome = group.first;
    const RankSet& ranks = group.second;
    RankSet part;
    const auto close = [&] {
      if (!part.empty()) message.groups.emplace_back(outcome, std::exchange(part, {}));
    };
    size += kOutcomeBytes + outcome.why.size();
    for (const RankSet::Range& range : ranks.ranges()) {
      if (size > kMax) {
        close();
        context_.send_up(std::exchange(message, {}));
        size = kOutcomeBytes + outcome.why.size();
      }
      part.add(RankSet::run(range.first, range.last - range.first + 1));
      size += kRangeBytes;
    }
    close();
  }
  context_.send_up(std::move(message));
}

}  // namespace scela::nla
