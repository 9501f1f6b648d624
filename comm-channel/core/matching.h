// Which receive gets which message (docs/channel.md, Matching).
//
// One per process. A receive takes the earliest message that fits it, a message the earliest
// receive that it fits, in the order in which both were told; so of two messages of one rank the
// first is taken first, if they are told in the order in which they were sent.
//
// Receives and messages belong to the caller, who embeds them in what it keeps anyhow, and does not
// move or destroy one that waits here. Nothing is allocated but tables, now and then, when there
// are more different keys than ever before. All searches take constant time.
//
// A tag of -1 is kAny; no message has it, nor a negative source.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm-channel/core/context_set.h"
#include "comm-channel/core/envelope.h"
#include "comm-channel/core/matching_index.h"

namespace scela::channel {

class Matcher;

// What a pattern leaves open, and so what it is looked for by.
enum class Wild : unsigned char { none, source, tag, both };

inline Wild wild_of(const Pattern& pattern) {
  return static_cast<Wild>((pattern.source == kAny ? 1 : 0) | (pattern.tag == kAny ? 2 : 0));
}

// The pattern of this kind that a message fits.
inline Pattern pattern_of(const Envelope& envelope, Wild wild) {
  const auto bits = static_cast<unsigned>(wild);
  return {envelope.context, (bits & 1) != 0 ? kAny : envelope.source,
          (bits & 2) != 0 ? kAny : envelope.tag};
}

// A receive. Given to the matcher it waits until it is matched, cancelled or taken.
struct Posted {
  Pattern pattern;
  std::uint64_t room = 0;  // bytes of its buffer; the matcher does not look at it

  bool waiting() const { return waiting_; }
  // Of all receives, which was told when.
  std::uint64_t turn() const { return turn_; }

 private:
  friend class Matcher;
  friend struct PostedBy;
  std::uint64_t turn_ = 0;
  IndexLinks<Posted> links_;
  OrderLinks<Posted> order_;
  bool waiting_ = false;
};

// A message that came before its receive.
struct Unexpected {
  Envelope envelope;
  std::uint64_t kept = 0;  // bytes of it that are here already: none of one that was only offered
  // Of its source's messages, how many came before it outside of offloaded channels.
  std::uint64_t after = 0;
  bool parked = false;  // in an offloaded channel: a ParkedMessage (offload_receiver.h)

  bool waiting() const { return waiting_; }

 private:
  friend class Matcher;
  template <Wild>
  friend struct UnexpectedBy;
  std::array<IndexLinks<Unexpected>, 4> links_;
  OrderLinks<Unexpected> order_;
  bool waiting_ = false;
};

struct PostedBy {
  using Item = Posted;
  static IndexLinks<Posted>& links(Posted& item) { return item.links_; }
  static OrderLinks<Posted>& order(Posted& item) { return item.order_; }
  static Pattern key(const Posted& item) { return item.pattern; }
};

template <Wild kWild>
struct UnexpectedBy {
  using Item = Unexpected;
  static IndexLinks<Unexpected>& links(Unexpected& item) {
    return item.links_[static_cast<std::size_t>(kWild)];
  }
  static OrderLinks<Unexpected>& order(Unexpected& item) { return item.order_; }
  static Pattern key(const Unexpected& item) { return pattern_of(item.envelope, kWild); }
};

class Matcher {
 public:
  struct Counts {
    std::uint64_t posted = 0;      // receives that wait
    std::uint64_t unexpected = 0;  // messages that wait
    std::uint64_t waited = 0;      // messages that ever have
    std::uint64_t bytes = 0;       // that those keep here which wait
    std::uint64_t unexpected_most = 0, bytes_most = 0;
  };

  Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // The message that the receive gets, which waits no longer; none: the receive waits.
  Unexpected* post(Posted& receive);
  // The receive that gets the message, and waits no longer; none: the message may be kept.
  Posted* arrived(const Envelope& envelope);
  // A message that nobody wanted when it arrived; it has its place in the order from now.
  void keep(Unexpected& message);
  // The same, with its place right before another of the same context and source, and behind all
  // that have its tag.
  void keep_before(Unexpected& message, Unexpected& other);

  // False: it does not wait (any more).
  bool cancel(Posted& receive);
  // As cancel, of a message: nobody will receive it.
  bool drop(Unexpected& message);
  // The message that a receive would get now; it goes on waiting.
  Unexpected* probe(const Pattern& pattern);
  // The same, and it waits no longer.
  Unexpected* take(const Pattern& pattern);

  // The receives that only this rank could complete, in the order in which they were posted; they
  // wait no longer, and are linked by following(). The rank is dead; receives from any source go on
  // waiting, for who is left. With kAny: those, for when nobody is. What a dead rank has sent
  // stays.
  Posted* take_receives_of(std::int32_t source);
  Posted* take_all_receives();
  static Posted* following(const Posted& taken) { return taken.order_.next; }

  // What waits, as it came.
  Posted* first_receive() const { return order_.first(); }
  Unexpected* first_message() const { return messages_.first(); }
  static Posted* after(const Posted& receive) { return receive.order_.next; }
  static Unexpected* after(const Unexpected& message) { return message.order_.next; }
  // The receives of exactly this pattern, as they came: the first, and the next.
  Posted* first_of(const Pattern& pattern) const { return receives_.find(pattern); }
  static Posted* next_of(Posted& receive) { return Index<PostedBy>::after(receive); }
  // The earliest receive with a wildcard that this message would fit.
  Posted* first_wild(const Envelope& envelope) const;

  const Counts& counts() const { return counts_; }

  // Contexts in which messages are not wanted: those that are kept there from now on are told of,
  // each once. Returns the contexts that were wanted until now.
  std::vector<ContextSet::Run> unwant(ContextSet::Run contexts) { return unwanted_.add(contexts); }
  void want(ContextSet::Run contexts) { unwanted_.remove(contexts); }
  bool is_unwanted(std::uint32_t context) const { return unwanted_.contains(context); }
  // What waits in that context, which is unwanted, is told of again.
  void tell_unwanted(std::uint32_t context) { unwanted_came_.push_back({context, kAny, kAny}); }
  // What it was; it may have been received since.
  std::optional<Pattern> next_unwanted();

 private:
  Unexpected* find(const Pattern& pattern);
  void index_messages(Wild wild);
  void count(Unexpected& message);
  void forget(Posted& receive);
  void forget(Unexpected& message);
  template <class Which>
  Posted* take_receives(Which which);

  std::uint64_t turns_ = 0;
  Index<PostedBy> receives_;
  Order<PostedBy> order_;
  std::array<std::uint64_t, 4> waiting_{};  // receives, by what they leave open
  Index<UnexpectedBy<Wild::none>> exact_;
  Index<UnexpectedBy<Wild::source>> any_source_;
  Index<UnexpectedBy<Wild::tag>> any_tag_;
  Index<UnexpectedBy<Wild::both>> any_;
  Order<UnexpectedBy<Wild::none>> messages_;
  // Only what somebody has looked for while these messages waited is kept up.
  std::array<bool, 4> indexed_{true, false, false, false};
  Counts counts_;
  ContextSet unwanted_;
  std::vector<Pattern> unwanted_came_;
};

}  // namespace scela::channel
