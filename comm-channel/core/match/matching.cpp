#include "comm-channel/core/match/matching.h"

#include <algorithm>

namespace scela::channel {

Unexpected* Matcher::post(Posted& receive) {
  if (counts_.unexpected != 0) {
    if (Unexpected* message = find(receive.pattern)) {
      forget(*message);
      return message;
    }
  }
  receive.turn_ = turns_++;
  receive.waiting_ = true;
  receives_.add(receive);
  order_.add(receive);
  ++waiting_[static_cast<std::size_t>(wild_of(receive.pattern))];
  ++counts_.posted;
  return nullptr;
}

Posted* Matcher::arrived(const Envelope& envelope) {
  Posted* found = nullptr;
  if (waiting_[0] != 0) found = receives_.find(pattern_of(envelope, Wild::none));
  if (counts_.posted != waiting_[0]) {
    Posted* wild = first_wild(envelope);
    if (found == nullptr || (wild != nullptr && wild->turn_ < found->turn_)) found = wild;
  }
  if (found != nullptr) forget(*found);
  return found;
}

Posted* Matcher::first_wild(const Envelope& envelope) const {
  Posted* found = nullptr;
  for (const Wild wild : {Wild::source, Wild::tag, Wild::both}) {
    if (waiting_[static_cast<std::size_t>(wild)] == 0) continue;
    Posted* other = receives_.find(pattern_of(envelope, wild));
    if (found == nullptr || (other != nullptr && other->turn_ < found->turn_)) found = other;
  }
  return found;
}

void Matcher::keep(Unexpected& message) {
  count(message);
  messages_.add(message);
  exact_.add(message);
  if (indexed_[1]) any_source_.add(message);
  if (indexed_[2]) any_tag_.add(message);
  if (indexed_[3]) any_.add(message);
}

void Matcher::keep_before(Unexpected& message, Unexpected& other) {
  count(message);
  messages_.add_before(message, other);
  exact_.add(message);
  if (indexed_[1]) any_source_.add(message);
  if (indexed_[2]) any_tag_.add_before(message, other);
  if (indexed_[3]) any_.add_before(message, other);
}

void Matcher::count(Unexpected& message) {
  message.waiting_ = true;
  ++counts_.waited;
  counts_.max_unexpected = std::max(counts_.max_unexpected, ++counts_.unexpected);
  counts_.bytes += message.kept;
  counts_.max_bytes = std::max(counts_.max_bytes, counts_.bytes);
  if (!unwanted_.empty() && unwanted_.contains(message.envelope.context))
    unwanted_came_.push_back(pattern_of(message.envelope, Wild::none));
}

std::optional<Pattern> Matcher::next_unwanted() {
  if (unwanted_came_.empty()) return std::nullopt;
  const Pattern last = unwanted_came_.back();
  unwanted_came_.pop_back();
  return last;
}

bool Matcher::cancel(Posted& receive) {
  if (!receive.waiting_) return false;
  forget(receive);
  return true;
}

bool Matcher::drop(Unexpected& message) {
  if (!message.waiting_) return false;
  forget(message);
  return true;
}

Unexpected* Matcher::probe(const Pattern& pattern) {
  return counts_.unexpected != 0 ? find(pattern) : nullptr;
}

Unexpected* Matcher::take(const Pattern& pattern) {
  Unexpected* message = probe(pattern);
  if (message != nullptr) forget(*message);
  return message;
}

Unexpected* Matcher::find(const Pattern& pattern) {
  const Wild wild = wild_of(pattern);
  if (!indexed_[static_cast<std::size_t>(wild)]) index_messages(wild);
  switch (wild) {
    case Wild::none:
      return exact_.find(pattern);
    case Wild::source:
      return any_source_.find(pattern);
    case Wild::tag:
      return any_tag_.find(pattern);
    case Wild::both:
      break;
  }
  return any_.find(pattern);
}

// Each message enters an index once at most before all messages are gone. So this costs a message
// no more than if the index were always kept up.
void Matcher::index_messages(Wild wild) {
  indexed_[static_cast<std::size_t>(wild)] = true;
  for (Unexpected* message = messages_.first(); message != nullptr; message = after(*message)) {
    if (wild == Wild::source) any_source_.add(*message);
    if (wild == Wild::tag) any_tag_.add(*message);
    if (wild == Wild::both) any_.add(*message);
  }
}

template <class Which>
Posted* Matcher::take_receives(Which which) {
  Order<PostedBy> taken;
  for (Posted* receive = order_.first(); receive != nullptr;) {
    Posted* next = after(*receive);
    if (which(*receive)) {
      forget(*receive);
      taken.add(*receive);
    }
    receive = next;
  }
  return taken.first();
}

Posted* Matcher::take_receives_of(std::int32_t source) {
  return take_receives([&](const Posted& receive) { return receive.pattern.source == source; });
}

void Matcher::forget(Posted& receive) {
  receives_.remove(receive);
  order_.remove(receive);
  receive.waiting_ = false;
  --waiting_[static_cast<std::size_t>(wild_of(receive.pattern))];
  --counts_.posted;
}

void Matcher::forget(Unexpected& message) {
  messages_.remove(message);
  exact_.remove(message);
  if (indexed_[1]) any_source_.remove(message);
  if (indexed_[2]) any_tag_.remove(message);
  if (indexed_[3]) any_.remove(message);
  message.waiting_ = false;
  counts_.bytes -= message.kept;
  // A single search by one kind of pattern should not make every later message more expensive.
  if (--counts_.unexpected == 0) indexed_ = {true, false, false, false};
}

}  // namespace scela::channel
