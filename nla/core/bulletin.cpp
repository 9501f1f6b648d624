#include "nla/core/bulletin.h"

#include <algorithm>

#include "cache/store.h"
#include "common/core/text.h"
#include "nla/core/budget.h"

namespace scela::nla {

namespace {

// What a child may have asked and not been answered. Its ranks ask one key at a time, or a few; it
// passes each key on once, whoever asks. Smaller: a job that waits for many keys would break;
// larger: more memory for a hostile child.
constexpr std::size_t kMinQuestions = 1024;
constexpr std::size_t kQuestionsPerRank = 16;
std::size_t most_questions(const RankSet& ranks) {
  return std::max(kMinQuestions, kQuestionsPerRank * ranks.size());
}
constexpr std::size_t kMaxKey = 1024;

}  // namespace

void Bulletin::ask(Rank rank, RequestId id, const ask::Put& put) {
  if (policy_->table().pending_bytes() + put.key.size() + put.value.size() +
          cache::Store::kPairOverhead >
      kRankBudget * context_.own_ranks.size()) {
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
    std::erase_if(at->second, [&](const Asker& asker) {
      if (asker.link != kParentLink) return false;
      local.push_back(asker);
      return true;
    });
    answer_all(local, put.key, true, put.value);
  }
}

void Bulletin::ask(Rank rank, RequestId id, const ask::Get& wanted) {
  get(wanted.key, wanted.wait, Asker{kParentLink, rank, id});
}

void Bulletin::receive(const msg::Put& message) {
  if (policy_->put_from_child(message.key, message.value.view()) && !context_.is_root()) {
    context_.send_up(message);
  }
  recheck();
}

bool Bulletin::receive(const Child& from, const msg::Get& message) {
  if (message.key.size() > kMaxKey) return false;
  if (questions_[from.link] >= most_questions(from.ranks)) return false;
  get(message.key, message.wait, Asker{from.link, 0, 0});
  return true;
}

bool Bulletin::keep(Askers& askers, const Asker& asker) {
  if (asker.link != kParentLink) {
    // A child that was told of a failure has forgotten what it asked, and may ask again.
    const auto is_it = [&](const Asker& other) { return other.link == asker.link; };
    if (std::any_of(askers.begin(), askers.end(), is_it)) return false;
    ++questions_[asker.link];
  }
  askers.push_back(asker);
  return true;
}

void Bulletin::forget(const Asker& asker) {
  if (asker.link != kParentLink) --questions_[asker.link];
}

void Bulletin::get(const std::string& key, bool wait, const Asker& asker) {
  const cache::Lookup lookup = policy_->get(key, asker.link != kParentLink);
  switch (lookup.found) {
    case cache::Found::here:
      answer(asker, key, true, Chunk(std::string(lookup.value)));
      break;
    case cache::Found::above:
      ask_above(key, wait, asker);
      break;
    case cache::Found::absent:
      if (wait) {
        keep(parked_[key], asker);
      } else {
        answer(asker, key, false, Chunk());
      }
      break;
  }
}

// The parent takes no more questions from here than most_questions(): the rest waits its turn.
void Bulletin::ask_above(const std::string& key, bool wait, const Asker& asker) {
  const bool fresh = !asked_.contains({key, wait});
  if (fresh && asked_.size() >= most_questions(context_.subtree_ranks)) {
    Askers one;
    if (keep(one, asker)) held_back_.push_back({key, wait, asker});
    return;
  }
  if (keep(asked_[{key, wait}], asker) && fresh) context_.send_up(msg::Get{key, wait});
}

void Bulletin::ask_on() {
  while (!held_back_.empty() && asked_.size() < most_questions(context_.subtree_ranks)) {
    const HeldBack next = std::move(held_back_.front());
    held_back_.pop_front();
    forget(next.asker);  // get() counts it anew
    get(next.key, next.wait, next.asker);
  }
}

void Bulletin::answer(const Asker& asker, const std::string& key, bool found, const Chunk& value) {
  if (asker.link != kParentLink) {
    context_.send(asker.link, msg::Answer{key, found, value});
    return;
  }
  Response response;
  response.found = found;
  if (found) response.parts.push_back(value);
  context_.act(action::Reply{asker.rank, asker.id, std::move(response)});
}

void Bulletin::answer_all(const Askers& askers, const std::string& key, bool found,
                          const Chunk& value) {
  for (const Asker& asker : askers) {
    forget(asker);
    answer(asker, key, found, value);
  }
}

void Bulletin::receive(const msg::Answer& message) {
  if (message.found) policy_->answer_passes(message.key, message.value.view());
  for (const bool waits : {false, true}) {
    if (waits && !message.found) break;
    const auto at = asked_.find({message.key, waits});
    if (at == asked_.end()) continue;
    Askers askers = std::move(at->second);
    asked_.erase(at);
    answer_all(askers, message.key, message.found, message.value);
  }
  ask_on();
  if (message.found) recheck();
}

void Bulletin::recheck() {
  for (auto at = parked_.begin(); at != parked_.end();) {
    const cache::Lookup lookup = policy_->get(at->first, false);
    if (lookup.found == cache::Found::absent) {
      ++at;
      continue;
    }
    if (lookup.found == cache::Found::here) {
      answer_all(at->second, at->first, true, Chunk{std::string(lookup.value)});
    } else {  // it came and went, or may have
      Askers& askers = asked_[{at->first, true}];
      if (askers.empty()) context_.send_up(msg::Get{at->first, true});
      askers.insert(askers.end(), at->second.begin(), at->second.end());
    }
    at = parked_.erase(at);
  }
}

void Bulletin::ranks_ended(const RankSet& ranks) {
  const auto is_it = [&](const Asker& a) {
    return a.link == kParentLink && ranks.contains(a.rank);
  };
  for (auto& [key, askers] : asked_)
    std::erase_if(askers, is_it);
  for (auto& [key, askers] : parked_)
    std::erase_if(askers, is_it);
  std::erase_if(held_back_, [&](const HeldBack& one) { return is_it(one.asker); });
}

void Bulletin::child_ended(LinkId link) {
  const auto is_it = [&](const Asker& a) { return a.link == link; };
  for (auto& [key, askers] : asked_)
    std::erase_if(askers, is_it);
  for (auto& [key, askers] : parked_)
    std::erase_if(askers, is_it);
  std::erase_if(held_back_, [&](const HeldBack& one) { return is_it(one.asker); });
  questions_.erase(link);
}

void Bulletin::ask_again() {
  for (const auto& [key, askers] : asked_) {
    if (!askers.empty()) context_.send_up(msg::Get{key.first, key.second});
  }
}

void Bulletin::fail_waiting(const std::string& why) {
  const auto fail_local = [&](Askers& askers) {
    for (const Asker& asker : askers) {
      forget(asker);
      if (asker.link == kParentLink) {
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
    fail_local(at->second);
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
