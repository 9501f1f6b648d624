#include "collectives/executors/run_set.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

// Of programs that make communicators again and again the latest matter.
constexpr std::size_t kGroups = 64;
constexpr std::uint32_t kUnheard = 16;
// Words of ranks that have freed what this one may have freed before: nobody asks for those.
constexpr std::size_t kWords = 1024;

GivenUp now(GivenUp what) {
  what.if_more = false;
  return what;
}

}  // namespace

RunSet::Group& RunSet::remember(std::uint32_t context, std::span<const int> ranks) {
  if (!groups_.empty() && groups_.back().context == context) return groups_.back();
  const auto found = std::ranges::find(groups_, context, &Group::context);
  if (found != groups_.end()) {
    std::rotate(found, found + 1, groups_.end());
    return groups_.back();
  }
  if (groups_.size() == kGroups) groups_.erase(groups_.begin());
  return groups_.emplace_back(Group{context, {ranks.begin(), ranks.end()}});
}

void RunSet::leave(const GivenUp& what, std::span<const int> ranks) {
  const auto own = static_cast<std::size_t>(std::ranges::find(ranks, what.rank) - ranks.begin());
  transport_.give_up(ranks.subspan((own + 1) % ranks.size(), 1), what);
}

void RunSet::count(std::uint32_t context, std::uint64_t number, std::span<const int> ranks) {
  Group& group = remember(context, ranks);
  group.begun = std::max(group.begun, number + 1);
  if (left_.empty()) return;
  const auto found = left_.find(context);
  if (found != left_.end() && group.begun > found->second.begun)
    give_up(now(found->second), group.ranks);
}

void RunSet::heard_of_one_that_left(const GivenUp& what) {
  left_[what.context] = what;
  if (left_.size() > kWords) left_.erase(left_.begin());
  const auto group = std::ranges::find(groups_, what.context, &Group::context);
  if (group != groups_.end() && group->begun > what.begun) give_up(now(what), group->ranks);
}

void RunSet::forget(std::uint32_t context) {
  std::erase_if(groups_, [context](const Group& group) { return group.context == context; });
  left_.erase(context);
}

const GivenUp* RunSet::given_up(std::uint32_t context) const {
  const auto found = std::find_if(given_up_.rbegin(), given_up_.rend(),
                                  [&](const GivenUp& what) { return what.context == context; });
  return found == given_up_.rend() ? nullptr : &*found;
}

void RunSet::abandon(Run& run, const GivenUp& what) {
  if (run.number() < what.begun) return;
  const int place = run.place_of(what.rank);
  if (place >= 0) run.abandon(fault_of(what, place));
}

// Who is told tells all others: the one who began may have ended before it had told everybody.
void RunSet::give_up(const GivenUp& what, std::span<const int> peers, const Run* over) {
  const GivenUp* const known = given_up(what.context);
  if (known != nullptr && (known->begun == 0 || what.begun != 0)) return;
  given_up_.push_back(what);
  undropped_.push_back(what);
  transport_.give_up(peers, what);
  for (Run* const run : runs_)
    if (run != over && run->context() == what.context) abandon(*run, what);
  drop(over);
}

// What is left of operations that go on is received first.
void RunSet::drop(const Run* over) {
  std::erase_if(undropped_, [&](const GivenUp& what) {
    const auto group = std::ranges::find(groups_, what.context, &Group::context);
    if (group != groups_.end() && group->begun < what.begun) return false;
    const bool goes_on = std::ranges::any_of(runs_, [&](const Run* run) {
      return run != over && run->context() == what.context && run->number() < what.begun;
    });
    if (!goes_on) transport_.drop(what.context);
    return !goes_on;
  });
}

void RunSet::hear() {
  while (const auto what = transport_.given_up()) {
    if (what->if_more) {
      heard_of_one_that_left(*what);
      continue;
    }
    const auto group = std::ranges::find(groups_, what->context, &Group::context);
    give_up(*what, group == groups_.end() ? std::span<const int>() : group->ranks);
  }
}

bool RunSet::get_on(Run& run) {
  const std::uint32_t context = run.context();
  ends_.ended = -1;
  const bool goes_on = run.advance(&ends_);
  if (ends_.ended < 0) return goes_on;
  if (const GivenUp* const known = given_up(context); known != nullptr && known->begun == 0)
    return goes_on;
  GivenUp what;
  what.context = context;
  what.rank = ends_.ended;
  give_up(what, ends_.peers, goes_on ? nullptr : &run);
  if (!goes_on) return false;
  abandon(run, what);
  return run.advance();
}

void RunSet::add(Run& run, Caller caller) {
  // Who only sends small messages is never anywhere else. Who waits for each hears when one does
  // not come, so that it need not ask the clock each time.
  const bool hears_later = caller == Caller::waits && run.receives() && given_up_.empty();
  if (!hears_later || ++unheard_ % kUnheard == 0) hear();
  run.begin(transport_);
  count(run.context(), run.number(), run.peers());
  if (!given_up_.empty())
    if (const GivenUp* const what = given_up(run.context())) abandon(run, *what);
  // Others that are under way would not get on meanwhile.
  if (caller == Caller::waits && runs_.empty() && given_up_.empty() && run.hurry()) return;
  if (get_on(run))
    runs_.push_back(&run);
  else if (!undropped_.empty())
    drop(nullptr);
}

bool RunSet::advance() {
  hear();
  bool ended = false;
  for (std::size_t i = 0; i < runs_.size();) {
    if (get_on(*runs_[i])) {
      ++i;
      continue;
    }
    // Nobody's place is asked for, and who is over is not touched.
    runs_[i] = runs_.back();
    runs_.pop_back();
    ended = true;
  }
  if (!undropped_.empty()) drop(nullptr);
  return ended;
}

void RunSet::cancel(Run& run, Fault why) {
  if (std::erase(runs_, &run) != 0) run.cancel(std::move(why));
}

void RunSet::wait_undisturbed() {
  if (runs_.size() == 1)
    transport_.wait(runs_.front()->waits_for());
  else
    wait({});
}

bool RunSet::wait(Transport::Limit limit) {
  tickets_.clear();
  for (const Run* const run : runs_)
    tickets_.push_back(run->waits_for());
  return transport_.wait_any(tickets_, limit);
}

bool RunSet::add_requests(std::vector<channel::Request*>& all) {
  tickets_.clear();
  for (const Run* const run : runs_)
    tickets_.push_back(run->waits_for());
  return transport_.add_requests(tickets_, all);
}

}  // namespace scela::collectives
