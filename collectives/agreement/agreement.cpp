#include "collectives/agreement/agreement.h"

#include <algorithm>
#include <utility>

namespace scela::collectives {

void AgreementValue::join(const AgreementValue& other) {
  for (std::size_t i = 0; i < ended.size() && i < other.ended.size(); ++i)
    ended[i] |= other.ended[i];
  flags &= other.flags;
  highest = std::max(highest, other.highest);
  calls |= other.calls;
}

Agreement::Agreement(int rank, int ranks, AgreementValue own)
    : rank_(rank),
      ranks_(ranks),
      own_(std::move(own)),
      dead_(index(ranks), false),
      accepted_(0),
      contributions_(index(ranks)),
      accepts_(index(ranks), false),
      told_(index(ranks), false) {}

void Agreement::begin(std::vector<OutgoingMessage>& out) {
  begun_ = true;
  get_on(out);
}

template <class Has>
bool Agreement::all_alive(Has has) const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (!dead_[index(rank)] && !has(index(rank))) return false;
  return true;
}

int Agreement::first_alive() const {
  return static_cast<int>(std::ranges::find(dead_, false) - dead_.begin());
}

// A rank never marks itself dead. If it is reported dead and lives, it learns that from the
// decision.
void Agreement::mark_dead(int rank) {
  if (rank != rank_) dead_[index(rank)] = true;
}

void Agreement::ended(int rank, std::vector<OutgoingMessage>& out) {
  if (dead_[index(rank)] || rank == rank_) return;
  mark_dead(rank);
  get_on(out);
}

void Agreement::receive(int from, const Message& message, std::vector<OutgoingMessage>& out) {
  if (dead_[index(from)]) return;  // no rank waits for it any more
  for (int rank = 0; rank < ranks_; ++rank)
    if (message.word.has_ended(rank)) mark_dead(rank);
  switch (message.kind) {
    case Kind::contribute:
      // The sender takes this rank for the leader, which means that all lower ranks are dead.
      for (int lower = 0; lower < rank_; ++lower)
        mark_dead(lower);
      contributions_[index(from)] = message;
      break;
    case Kind::propose:
      // A proposal is accepted only from the leader to which this rank has told what it had
      // accepted.
      if (contributed_to_ != from || first_alive() != from || decided_) break;
      accepted_of_ = from;
      accepted_ = message.word;
      out.push_back({from, {Kind::accept, from, AgreementValue(ranks_)}});
      break;
    case Kind::accept:
      accepts_[index(from)] = true;
      break;
    case Kind::decide:
      told_[index(from)] = true;
      if (!decided_) decide(message.word, out);
      break;
  }
  get_on(out);
}

void Agreement::get_on(std::vector<OutgoingMessage>& out) {
  if (!begun_ || decided_) return;
  if (first_alive() != contributed_to_) contribute(out);
  if (first_alive() == rank_) ask_for_all(out);
}

void Agreement::contribute(std::vector<OutgoingMessage>& out) {
  contributed_to_ = first_alive();
  Message message{Kind::contribute, accepted_of_, accepted_of_ < 0 ? own_ : accepted_};
  if (contributed_to_ == rank_)
    contributions_[index(rank_)] = std::move(message);
  else
    out.push_back({contributed_to_, std::move(message)});
}

void Agreement::ask_for_all(std::vector<OutgoingMessage>& out) {
  if (!proposed_) {
    if (!all_alive([&](std::size_t rank) { return contributions_[rank].has_value(); })) return;
    AgreementValue word = own_;
    int accepted_of = -1;
    for (const auto& contribution : contributions_) {
      if (!contribution || contribution->accepted_of < accepted_of) continue;
      if (contribution->accepted_of > accepted_of) {
        accepted_of = contribution->accepted_of;
        word = contribution->word;
      } else if (accepted_of < 0) {
        word.join(contribution->word);
      }
    }
    // A proposal that may have been decided is not changed.
    if (accepted_of < 0)
      for (int rank = 0; rank < ranks_; ++rank)
        if (dead_[index(rank)]) word.mark_ended(rank);
    proposed_ = true;
    accepted_of_ = rank_;
    accepted_ = word;
    accepts_[index(rank_)] = true;
    for (int rank = 0; rank < ranks_; ++rank)
      if (rank != rank_ && !dead_[index(rank)]) out.push_back({rank, {Kind::propose, rank_, word}});
  }
  if (all_alive([&](std::size_t rank) { return accepts_[rank]; }))
    decide(AgreementValue(accepted_), out);
}

// A rank that is believed dead is told as well, so that it learns that it is.
void Agreement::decide(const AgreementValue& word, std::vector<OutgoingMessage>& out) {
  decided_ = word;
  told_[index(rank_)] = true;
  for (int rank = 0; rank < ranks_; ++rank)
    if (rank != rank_) out.push_back({rank, {Kind::decide, -1, word}});
}

void Agreement::describe(std::vector<std::uint64_t>& out) const {
  const auto number = [&](std::int64_t value) { out.push_back(static_cast<std::uint64_t>(value)); };
  const auto word = [&](const AgreementValue& one) {
    out.insert(out.end(), one.ended.begin(), one.ended.end());
    out.insert(out.end(), {one.flags, one.highest, one.calls});
  };
  for (const std::vector<bool>* const bits : {&dead_, &accepts_, &told_})
    for (const bool bit : *bits)
      number(bit ? 1 : 0);
  for (const std::int64_t value :
       {begun_ ? 1 : 0, proposed_ ? 1 : 0, contributed_to_, accepted_of_, decided_ ? 1 : 0})
    number(value);
  word(accepted_);
  word(decided_.value_or(AgreementValue(ranks_)));
  for (const auto& contribution : contributions_) {
    number(contribution ? contribution->accepted_of : -2);
    if (contribution) word(contribution->word);
  }
}

bool Agreement::done() const {
  return decided_ && all_alive([&](std::size_t rank) { return told_[rank]; });
}

}  // namespace scela::collectives
