#include "nla/core/kvs/bulletin.h"

#include <algorithm>

#include "cache/store.h"
#include "common/core/text.h"
#include "nla/core/kvs/budget.h"

namespace scela::nla {

namespace {

// A neighbour may have this many open questions, for the ranks that it asks for. These ask one key
// at a time, or a few. The neighbour passes each key on once, however many ranks ask. If it were
// smaller, a job that waits for many keys would break. If it were larger, a hostile child could
// take more memory.
constexpr std::size_t kMinQuestions = 1024;
constexpr std::size_t kQuestionsPerRank = 16;
std::size_t max_questions(std::uint64_t ranks) {
  return std::max<std::size_t>(kMinQuestions, kQuestionsPerRank * ranks);
}
constexpr std::size_t kMaxKey = 1024;

}  // namespace

void Bulletin::use(cache::Policy* policy) {
  policy_ = policy;
  spreads_ = policy->owner({}).has_value();
  if (!spreads_) return;
  add_routes(context_.own_ranks, kHere);
  for (const Child& child : children_.all())
    add_routes(child.ranks, child.link);
  std::sort(routes_.begin(), routes_.end(),
            [](const Route& a, const Route& b) { return a.last < b.last; });
}

void Bulletin::ask(Rank rank, RequestId id, const ask::Put& put) {
  if (policy_->table().pending_bytes() + put.key.size() + put.value.size() +
          cache::Store::kPairOverhead >
      kRankBudget * context_.shares(context_.own_ranks)) {
    const std::string why =
        cat("the ranks of this node have put more than ", kRankBudget / (1024 * 1024),
            " MiB each since the last fence of all ranks");
    context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
    return;
  }
  if (policy_->put(put.key, put.value.view())) context_.send_up(msg::Put{put.key, put.value});
  context_.act(action::Reply{rank, id, Response{}});
  if (!asked_.empty()) answer_local(put);
  if (!parked_.empty()) recheck();
}

// The pair is visible here, so ranks of this node need not wait for the answer from above.
void Bulletin::answer_local(const ask::Put& put) {
  for (const bool waits : {false, true}) {
    const auto at = asked_.find({put.key, waits});
    if (at == asked_.end()) continue;
    Askers local;
    std::erase_if(at->second.askers, [&](const Asker& asker) {
      if (asker.link != kHere) return false;
      local.push_back(asker);
      return true;
    });
    answer_all(local, {put.key, waits, true, false, put.value});
  }
}

void Bulletin::ask(Rank rank, RequestId id, const ask::Get& wanted) {
  get(wanted.key, wanted.wait, Asker{kHere, rank, id});
}

void Bulletin::receive(const msg::Put& message) {
  if (policy_->put_from_child(message.key, message.value.view()) && !context_.is_root()) {
    context_.send_up(message);
  }
  recheck();
}

bool Bulletin::receive(const Child& from, const msg::Get& message) {
  if (message.key.size() > kMaxKey || next_link_to(message.key) == from.link) return false;
  if (questions_[from.link] >= max_questions(from.ranks.size())) return false;
  get(message.key, message.wait, Asker{from.link});
  return true;
}

bool Bulletin::receive(const msg::Get& message) {
  if (!spreads_ || message.key.size() > kMaxKey || next_link_to(message.key) == kParentLink)
    return false;
  if (questions_[kParentLink] >= max_questions(context_.job->map.size())) return false;
  get(message.key, message.wait, Asker{kParentLink});
  return true;
}

bool Bulletin::keep(Askers& askers, const Asker& asker) {
  if (asker.link != kHere) {
    // A child that was told of a failure has forgotten what it asked, and may ask again.
    const auto is_it = [&](const Asker& other) { return other.link == asker.link; };
    if (std::any_of(askers.begin(), askers.end(), is_it)) return false;
    ++questions_[asker.link];
  }
  askers.push_back(asker);
  return true;
}

void Bulletin::forget(const Asker& asker) {
  if (asker.link != kHere) --questions_[asker.link];
}

void Bulletin::get(const std::string& key, bool wait, const Asker& asker) {
  const cache::Lookup lookup = policy_->get(key, asker.link != kHere);
  switch (lookup.found) {
    case cache::Found::here:
      answer(asker, {key, wait, true, false, Chunk(std::string(lookup.value))});
      break;
    case cache::Found::elsewhere:
      ask_elsewhere(key, wait, asker);
      break;
    case cache::Found::absent:
      park(key, wait, asker);
      break;
  }
}

void Bulletin::park(const std::string& key, bool wait, const Asker& asker) {
  if (wait) {
    keep(parked_[key], asker);
  } else {
    answer(asker, {key, wait, false, false, {}});
  }
}

// No agent takes more questions than max_questions(). The others wait for their turn.
bool Bulletin::may_ask(LinkId to) const {
  const auto at = open_.find(to);
  const std::uint64_t ranks =
      to == kParentLink ? context_.subtree_ranks.size() : context_.job->map.size();
  return at == open_.end() || at->second < max_questions(ranks);
}

void Bulletin::ask_elsewhere(const std::string& key, bool wait, const Asker& asker) {
  if (const auto at = asked_.find({key, wait}); at != asked_.end()) {
    keep(at->second.askers, asker);
    return;
  }
  const std::optional<LinkId> to = next_link_to(key);
  if (!to) return answer(asker, {key, wait, false, true, {}});
  if (*to == kHere) return park(key, wait, asker);
  Question question;
  question.to = *to;
  keep(question.askers, asker);
  if (!may_ask(*to)) {
    held_back_.push_back({key, wait, asker});
    return;
  }
  ++open_[*to];
  asked_.emplace(Key{key, wait}, std::move(question));
  context_.send(*to, msg::Get{key, wait});
}

void Bulletin::ask_on() {
  std::deque<HeldBack> waiting = std::exchange(held_back_, {});
  for (const HeldBack& next : waiting) {
    const std::optional<LinkId> to = next_link_to(next.key);
    if (to && *to != kHere && !may_ask(*to)) {
      held_back_.push_back(next);
      continue;
    }
    forget(next.asker);  // get() counts it anew
    get(next.key, next.wait, next.asker);
  }
}

void Bulletin::answer(const Asker& asker, const msg::Answer& message) {
  if (asker.link != kHere) {
    // A child may have ended with the rank that asked for this.
    const Child* child = children_.find(asker.link);
    if (asker.link != kParentLink && (child == nullptr || !child->serving())) return;
    context_.send(asker.link, message);
    return;
  }
  Response response;
  response.found = message.found;
  if (message.found) response.parts.push_back(message.value);
  if (message.lost) {
    response.ok = false;
    response.error = "the node that held this pair was lost";
  }
  context_.act(action::Reply{asker.rank, asker.id, std::move(response)});
}

void Bulletin::answer_all(const Askers& askers, const msg::Answer& message) {
  for (const Asker& asker : askers) {
    forget(asker);
    answer(asker, message);
  }
}

bool Bulletin::receive(LinkId from, const msg::Answer& message) {
  const auto at = asked_.find({message.key, message.wait});
  if (at == asked_.end() || at->second.to != from ||
      (message.wait && !message.found && !message.lost)) {
    // A parent may not know yet that no asker waits any more (fail_waiting()).
    if (spreads_ || from != kParentLink) return false;
    if (message.found) policy_->answer_passes(message.key, message.value.view());
  } else {
    const Key key = at->first;
    Question question = std::move(at->second);
    asked_.erase(at);
    --open_[from];
    Askers later;
    if (question.stale) {
      std::erase_if(question.askers, [&](const Asker& asker) {
        if (!asker.before) later.push_back(asker);
        return !asker.before;
      });
    } else if (message.found) {
      policy_->answer_passes(message.key, message.value.view());
    }
    answer_all(question.askers, message);
    for (const Asker& asker : later) {
      forget(asker);  // get() counts it anew
      get(key.first, key.second, asker);
    }
  }
  if (!held_back_.empty()) ask_on();
  if (message.found) recheck();
  return true;
}

// A copy that is on its way here may be older than what is visible now.
void Bulletin::fence_passed() {
  if (spreads_) {
    for (auto& [key, question] : asked_)
      mark_stale(question);
  } else {
    answer_here();
  }
  recheck();
}

// The parent may never know of these pairs: it was lost, and the fence turned round below it.
void Bulletin::answer_here() {
  for (auto at = asked_.begin(); at != asked_.end();) {
    const auto& [key, waits] = at->first;
    const cache::Lookup lookup = waits ? policy_->get(key, false) : cache::Lookup{};
    if (lookup.found != cache::Found::here) {
      ++at;
      continue;
    }
    const msg::Answer found{key, true, true, false, Chunk(std::string(lookup.value))};
    const Question question = std::move(at->second);
    at = asked_.erase(at);
    --open_[question.to];
    answer_all(question.askers, found);
  }
  if (!held_back_.empty()) ask_on();
}

// Marks a question once. Askers that come later need an answer that is newer than this fence or
// pair. So their question is asked again when the answer in flight has come.
void Bulletin::mark_stale(Question& question) {
  if (std::exchange(question.stale, true)) return;
  for (Asker& asker : question.askers)
    asker.before = true;
}

void Bulletin::mark_stale(std::string_view key) {
  for (const bool waits : {false, true}) {
    const auto at = asked_.find({std::string(key), waits});
    if (at != asked_.end()) mark_stale(at->second);
  }
}

void Bulletin::recheck() {
  for (auto at = parked_.begin(); at != parked_.end();) {
    const cache::Lookup lookup = policy_->get(at->first, false);
    if (lookup.found == cache::Found::absent) {
      ++at;
      continue;
    }
    const Key key{at->first, true};
    const Askers askers = std::move(at->second);
    at = parked_.erase(at);
    if (lookup.found == cache::Found::here) {
      answer_all(askers, {key.first, true, true, false, Chunk(std::string(lookup.value))});
    } else {  // the pair came, and may have gone
      for (const Asker& asker : askers) {
        forget(asker);
        ask_elsewhere(key.first, true, asker);
      }
    }
  }
}

void Bulletin::drop_askers(const std::function<bool(const Asker&)>& which) {
  for (auto& [key, question] : asked_)
    std::erase_if(question.askers, which);
  for (auto& [key, askers] : parked_)
    std::erase_if(askers, which);
  std::erase_if(held_back_, [&](const HeldBack& one) { return which(one.asker); });
}

void Bulletin::ranks_ended(const RankSet& ranks) {
  drop_askers([&](const Asker& a) { return a.link == kHere && ranks.contains(a.rank); });
}

void Bulletin::child_ended(LinkId link) {
  drop_askers([&](const Asker& a) { return a.link == link; });
  questions_.erase(link);
  for (auto at = asked_.begin(); at != asked_.end();) {
    if (at->second.to != link) {
      ++at;
      continue;
    }
    const msg::Answer lost{at->first.first, at->first.second, false, true, {}};
    const Askers askers = std::move(at->second.askers);
    at = asked_.erase(at);
    --open_[link];
    answer_all(askers, lost);
  }
  if (!held_back_.empty()) ask_on();
}

void Bulletin::ask_again() {
  for (auto at = asked_.begin(); at != asked_.end();) {
    const auto here = at++;
    const auto& [key, question] = *here;
    if (question.to != kParentLink) continue;
    if (!question.askers.empty()) {
      context_.send(kParentLink, msg::Get{key.first, key.second});
      continue;
    }
    // No asker waits for this question, and its answer never comes. A later get of the pair would
    // wait for that answer.
    --open_[kParentLink];
    asked_.erase(here);
  }
  if (!held_back_.empty()) ask_on();
}

void Bulletin::fail_waiting(const std::string& why) {
  const auto fail_local = [&](Askers& askers) {
    for (const Asker& asker : askers) {
      forget(asker);
      if (asker.link == kHere) {
        context_.act(action::Reply{asker.rank, asker.id, Response{false, why, false, {}}});
      }
    }
    // Askers below were told by the same broadcast and have forgotten their questions.
    askers.clear();
  };
  for (auto at = asked_.begin(); at != asked_.end();) {
    if (!at->first.second) {
      ++at;
      continue;
    }
    fail_local(at->second.askers);
    --open_[at->second.to];
    at = asked_.erase(at);
  }
  for (auto& [key, askers] : parked_)
    fail_local(askers);
  parked_.clear();
  std::erase_if(held_back_, [&](const HeldBack& one) {
    Askers asker{one.asker};
    if (one.wait) fail_local(asker);
    return one.wait;
  });
  ask_on();
}

}  // namespace scela::nla
