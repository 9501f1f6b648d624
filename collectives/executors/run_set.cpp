#include "collectives/executors/run_set.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

// The number of contexts for which ranks and kinds are kept, the latest ones. Programs that make
// communicators again and again use those.
constexpr std::size_t kGroups = 64;
// A caller that waits for each run looks for words only in every 16th begin().
constexpr std::uint32_t kUnheard = 16;
// The number of words kept about contexts that may never be used again. A rank may have freed a
// communicator that this rank freed before, and no run asks for such a word.
constexpr std::size_t kWords = 1024;

// The time between two looks for stalled runs: a run that is seen a second time is stalled.
constexpr std::chrono::milliseconds kBetweenStallLooks{250};
constexpr int kMaxAsked = 16;  // at a time
// If there are more runs than kFew, only some are looked at each time, and messages are not moved
// for each of them. At most kFew runs are waited for. If there are more, the wait is short.
constexpr std::size_t kFew = 32;
constexpr std::chrono::milliseconds kShortWait{1};

AbortedContext now(AbortedContext what) {
  what.about = About::given_up;
  return what;
}

// Returns the time to the kernel's tick, which is cheaper than the exact time.
std::chrono::nanoseconds coarse_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void keep_few(std::map<ContextId, AbortedContext>& all, const AbortedContext& what) {
  all[what.context] = what;
  if (all.size() > kWords) all.erase(all.begin());
}

}  // namespace

RunSet::RunSet(Transport& transport) : transport_(transport) {
  tickets_.reserve(kFew);
}

RunSet::Group& RunSet::remember(ContextId context, std::span<const int> ranks) {
  if (!groups_.empty() && groups_.back().context == context) return groups_.back();
  const auto found = std::ranges::find(groups_, context, &Group::context);
  if (found != groups_.end()) {
    std::rotate(found, found + 1, groups_.end());
    return groups_.back();
  }
  if (groups_.size() == kGroups) {
    keep_begun(groups_.front().context, groups_.front().begun);
    groups_.erase(groups_.begin());
  }
  return groups_.emplace_back(Group{context, {ranks.begin(), ranks.end()}});
}

void RunSet::leave(const AbortedContext& what, std::span<const int> ranks) {
  const auto own = static_cast<std::size_t>(std::ranges::find(ranks, what.rank) - ranks.begin());
  transport_.give_up(ranks.subspan((own + 1) % ranks.size(), 1), what);
}

std::uint16_t RunSet::Group::kind_of(std::uint64_t number) const {
  if (number >= begun || begun - number > kinds.size()) return 0;
  return kinds[number % kinds.size()];
}

void RunSet::compare(const Group& group, const AbortedContext& what) {
  const std::uint16_t own = group.kind_of(what.begun);
  if (own == 0 || what.kind == 0 || own == what.kind) return;
  AbortedContext other;
  other.context = what.context;
  other.rank = what.rank;
  other.refusal = Refusal::other;
  give_up(other, group.ranks);
}

void RunSet::ask_for_stalled() {
  const std::chrono::nanoseconds now = coarse_now();
  if (now - looked_ < kBetweenStallLooks) return;
  looked_ = now;
  int asked = 0;
  for (Run* const run : runs_) {
    const auto word = run != nullptr ? run->word_if_stalled() : std::nullopt;
    if (!word) continue;
    leave(*word, run->peers());
    if (++asked == kMaxAsked) return;
  }
}

void RunSet::count(ContextId context, std::uint64_t number, std::span<const int> ranks,
                   std::uint16_t kind) {
  Group& group = remember(context, ranks);
  group.begun = std::max(group.begun, number + 1);
  group.kinds[number % group.kinds.size()] = kind;
  if (left_.empty() && calls_.empty()) return;
  if (const auto found = left_.find(context);
      found != left_.end() && group.begun > found->second.begun)
    give_up(now(found->second), group.ranks);
  if (const auto found = calls_.find(context);
      found != calls_.end() && found->second.begun < group.begun) {
    compare(group, found->second);
    calls_.erase(found);
  }
}

void RunSet::heard_of_one_that_left(const AbortedContext& what) {
  keep_few(left_, what);
  const auto group = std::ranges::find(groups_, what.context, &Group::context);
  if (group != groups_.end() && group->begun > what.begun) give_up(now(what), group->ranks);
}

std::uint64_t RunSet::begun_in(ContextId context) const {
  const auto group = std::ranges::find(groups_, context, &Group::context);
  if (group != groups_.end()) return group->begun;
  const auto before = begun_before_.find(context);
  return before == begun_before_.end() ? 0 : before->second;
}

void RunSet::keep_begun(ContextId context, std::uint64_t begun) {
  begun_before_[context] = begun;
  if (begun_before_.size() > kWords) begun_before_.erase(begun_before_.begin());
}

// Messages that other ranks still send there are dropped when those ranks give the context up.
void RunSet::forget(ContextId context) {
  std::erase_if(groups_, [context](const Group& group) { return group.context == context; });
  left_.erase(context);
  calls_.erase(context);
  try {
    keep_begun(context, UINT64_MAX);
    if (!undropped_.empty()) drop(nullptr);
  } catch (const std::bad_alloc&) {
    transport_.drop(context);
  }
}

const AbortedContext* RunSet::given_up(ContextId context) const {
  const auto found =
      std::find_if(given_up_.rbegin(), given_up_.rend(),
                   [&](const AbortedContext& what) { return what.context == context; });
  return found == given_up_.rend() ? nullptr : &*found;
}

void RunSet::abandon(Run& run, const AbortedContext& what) {
  if (run.number() < what.begun) return;
  const int place = run.place_of(what.rank);
  if (place >= 0) run.abandon(fault_of(what, place));
}

// A rank that is told tells all others, because the first rank may have ended before it had told
// all.
void RunSet::give_up(const AbortedContext& what, std::span<const int> peers, const Run* over) {
  const AbortedContext* const known = given_up(what.context);
  if (known != nullptr && (known->begun == 0 || what.begun != 0)) return;
  given_up_.push_back(what);
  undropped_.push_back(what);
  transport_.give_up(peers, what);
  for (Run* const run : runs_)
    if (run != nullptr && run != over && run->context() == what.context) abandon(*run, what);
  drop(over);
}

// Drops the contexts given up, once the operations that still go on there are over.
void RunSet::drop(const Run* over) {
  std::erase_if(undropped_, [&](const AbortedContext& what) {
    // A rank that was told before it began any of these operations still receives their messages.
    if (begun_in(what.context) < what.begun) return false;
    const bool goes_on = std::ranges::any_of(runs_, [&](const Run* run) {
      return run != nullptr && run != over && run->context() == what.context &&
             run->number() < what.begun;
    });
    if (!goes_on) transport_.drop(what.context);
    return !goes_on;
  });
}

void RunSet::hear() {
  while (const auto what = transport_.given_up()) {
    if (what->about == About::left) {
      heard_of_one_that_left(*what);
      continue;
    }
    const auto group = std::ranges::find(groups_, what->context, &Group::context);
    if (what->about == About::calls) {
      if (group != groups_.end() && what->begun < group->begun)
        compare(*group, *what);
      else
        keep_few(calls_, *what);
      continue;
    }
    give_up(*what, group == groups_.end() ? std::span<const int>() : group->ranks);
  }
}

// Does what Run::advance() does. Returns false as well if there is no memory for the run.
bool RunSet::advance(Run& run, Run::Ends* ends) {
  try {
    return run.advance(ends);
  } catch (const std::bad_alloc&) {
    has_no_memory_for(run);
    return false;
  }
}

// Ends the run, which belongs to its owner again at once. The other ranks go on with notes, if they
// have begun it.
void RunSet::has_no_memory_for(Run& run) {
  spare_.release();
  AbortedContext what;
  what.context = run.context();
  what.rank = run.own_rank();
  what.refusal = Refusal::memory;
  what.begun = run.number();
  const std::vector<int> peers(run.peers().begin(), run.peers().end());
  run.cancel(fault_of(what, run.place_of(what.rank)));
  if (peers.size() > 1) give_up(what, peers, &run);
}

bool RunSet::get_on(Run& run) {
  const ContextId context = run.context();
  ends_.rank = -1;
  const bool goes_on = advance(run, &ends_);
  if (ends_.rank < 0) return goes_on;
  if (const AbortedContext* const known = given_up(context); known != nullptr && known->begun == 0)
    return goes_on;
  AbortedContext what;
  what.context = context;
  what.rank = ends_.rank;
  what.refusal = ends_.refusal;
  give_up(what, ends_.peers, goes_on ? nullptr : &run);
  if (!goes_on) return false;
  abandon(run, what);
  return advance(run, nullptr);
}

void RunSet::add(Run& run, Caller caller) {
  try {
    if (runs_.size() == runs_.capacity()) runs_.reserve(2 * runs_.size() + kFew);
    begin(run, caller);
  } catch (const std::bad_alloc&) {
    if (!run.is_under_way()) run.begin(transport_);
    has_no_memory_for(run);
  }
}

void RunSet::begin(Run& run, Caller caller) {
  // A caller that only sends small messages never calls anything else, so it must look for words
  // here. A caller that waits for each run looks when a message does not come, so that it need not
  // read the clock each time.
  const bool hears_later = caller == Caller::waits && run.receives() && given_up_.empty();
  if (!hears_later || ++unheard_ % kUnheard == 0) hear();
  run.begin(transport_);
  count(run.context(), run.number(), run.peers(), run.kind());
  if (!given_up_.empty())
    if (const AbortedContext* const what = given_up(run.context())) abandon(run, *what);
  // This is done only if no other run is under way, since others would not progress meanwhile.
  if (caller == Caller::waits && empty() && given_up_.empty() && run.try_fast_path()) return;
  if (get_on(run)) {
    runs_.push_back(&run);
    ++count_;
  } else if (!undropped_.empty())
    drop(nullptr);
}

// The runs that were begun first are looked at each time, since their messages mostly come first.
// As many of the others are looked at in turn.
bool RunSet::advance() {
  hear();
  if (empty()) return false;
  ask_for_stalled();
  bool ended = false;
  if (count_ <= kFew) {
    for (std::size_t i = first_; i < runs_.size(); ++i)
      ended = look_at(i) || ended;
  } else {
    transport_.move();
    transport_.let_tests(Transport::Tests::look);
    std::size_t from = first_;
    ended = look_at_some(from);
    cursor_ = std::max(cursor_, from);
    if (cursor_ >= runs_.size()) cursor_ = from;
    ended = look_at_some(cursor_) || ended;
    transport_.let_tests(Transport::Tests::move);
  }
  while (first_ < runs_.size() && runs_[first_] == nullptr)
    ++first_;
  if (empty() || runs_.size() > 2 * (count_ + kFew)) pack();
  if (!undropped_.empty()) drop(nullptr);
  return ended;
}

// Returns true if the run has ended. Such a run belongs to its owner again, and is not touched.
bool RunSet::look_at(std::size_t place) {
  if (runs_[place] == nullptr || get_on(*runs_[place])) return false;
  runs_[place] = nullptr;
  --count_;
  return true;
}

// Looks at up to kFew runs from `from` on, and moves `from` behind them.
bool RunSet::look_at_some(std::size_t& from) {
  bool ended = false;
  for (std::size_t looks = 0; from < runs_.size() && looks < kFew; ++from) {
    if (runs_[from] != nullptr) ++looks;
    ended = look_at(from) || ended;
  }
  return ended;
}

void RunSet::pack() {
  std::erase(runs_, nullptr);
  first_ = cursor_ = 0;
}

void RunSet::cancel(Run& run, Fault why) {
  const auto found = std::ranges::find(runs_, &run);
  if (found == runs_.end()) return;
  *found = nullptr;
  --count_;
  run.cancel(std::move(why));
}

void RunSet::wait_undisturbed() {
  const auto single =
      count_ == 1 ? std::ranges::find_if(runs_, [](const Run* run) { return run != nullptr; })
                  : runs_.end();
  if (single != runs_.end())
    transport_.wait((*single)->waits_for());
  else
    wait({});
}

bool RunSet::wait(Transport::Timeout limit) {
  gather_tickets();
  const auto most = tickets_.size() < count_ ? kShortWait : Transport::kLongWait;
  const bool is_shorter = limit && *limit < most;
  return transport_.wait_any(tickets_, is_shorter ? *limit : most) || !is_shorter;
}

bool RunSet::add_requests(std::vector<Request*>& all) {
  gather_tickets();
  return tickets_.size() == count_ && transport_.add_requests(tickets_, all);
}

void RunSet::gather_tickets() {
  tickets_.clear();
  for (std::size_t i = first_; i < runs_.size() && tickets_.size() < kFew; ++i)
    if (runs_[i] != nullptr) tickets_.push_back(runs_[i]->waits_for());
}

}  // namespace scela::collectives
