// Message matching: decides which receive gets which message (docs/design/channel.md, Matching).
//
// Each process has one Matcher; Messenger owns it (comm-channel/messenger/messenger.h). A receive
// takes the earliest message that fits it, and a message takes the earliest receive that it fits.
// Earliest means the order of calls to the matcher. So the first of two messages of one rank is
// taken first, if the caller passes them in the order of sending.
//
// Receives and messages belong to the caller, which embeds them in its own objects. The caller does
// not move or destroy one that waits here. The matcher allocates only tables, and only if there are
// more different keys than ever before. All searches take constant expected time.
//
// A source or tag of -1 is kAny. No message has it, nor a negative source. The matcher is not
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm-channel/core/match/context_set.h"
#include "comm-channel/core/match/envelope.h"
#include "comm-channel/core/match/matching_index.h"

namespace scela::channel {

class Matcher;

// The fields that a pattern leaves open (kAny): none, the source only, the tag only, or both. They
// select the index that the pattern is looked up in.
enum class Wild : unsigned char { none, source, tag, both };

inline Wild wild_of(const Pattern& pattern) {
  return static_cast<Wild>((pattern.source == kAny ? 1 : 0) | (pattern.tag == kAny ? 2 : 0));
}

// Returns the pattern that the message fits and that leaves the fields of `wild` open.
inline Pattern pattern_of(const Envelope& envelope, Wild wild) {
  const auto bits = static_cast<unsigned>(wild);
  return {envelope.context, (bits & 1) != 0 ? kAny : envelope.source,
          (bits & 2) != 0 ? kAny : envelope.tag};
}

// A receive. After post() it waits until it is matched, cancelled or taken.
struct Posted {
  Pattern pattern;
  std::uint64_t room = 0;  // bytes of its buffer; not used here

  bool waiting() const { return waiting_; }
  // Returns a number that is larger for each receive that begins to wait; an earlier receive has a
  // smaller one.
  std::uint64_t turn() const { return turn_; }

 private:
  friend class Matcher;
  friend struct PostedBy;
  std::uint64_t turn_ = 0;
  IndexLinks<Posted> links_;
  OrderLinks<Posted> order_;
  bool waiting_ = false;
};

// A message that arrived before its receive was posted.
struct Unexpected {
  Envelope envelope;
  std::uint64_t kept = 0;  // bytes already here; 0 if only offered
  // The number of messages that its source sent before it outside of offloaded channels.
  std::uint64_t after = 0;
  bool parked = false;  // a ParkedMessage (comm-channel/core/protocol/offload_receiver.h)

  bool waiting() const { return waiting_; }

 private:
  friend class Matcher;
  template <Wild>
  friend struct UnexpectedBy;
  std::array<IndexLinks<Unexpected>, 4> links_;
  OrderLinks<Unexpected> order_;
  bool waiting_ = false;
};

// These say to Index and Order where the links and the key of an item are (matching_index.h).
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
    std::uint64_t posted = 0;      // receives that wait now
    std::uint64_t unexpected = 0;  // messages that wait now
    std::uint64_t waited = 0;      // messages that have ever waited
    std::uint64_t bytes = 0;       // kept bytes of messages that wait now
    std::uint64_t max_unexpected = 0, max_bytes = 0;
  };

  Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Posts a receive. Returns the message that it gets, which waits no longer. Returns nullptr if
  // there is none: the receive then waits.
  Unexpected* post(Posted& receive);
  // Returns the receive that gets an arriving message; it waits no longer. Returns nullptr if there
  // is none: the caller may then keep() the message.
  Posted* arrived(const Envelope& envelope);
  // Makes a message wait that no waiting receive fits (arrived() has returned nullptr). It becomes
  // the last one in the order.
  void keep(Unexpected& message);
  // Does so, but puts the message right before `other`, which waits, has the same context and
  // source, and is behind all messages that have the tag of `message`.
  void keep_before(Unexpected& message, Unexpected& other);

  // Removes a waiting receive. Returns false if it does not wait (any more).
  bool cancel(Posted& receive);
  // Removes a waiting message, which no receive will get. Returns false if it does not wait.
  bool drop(Unexpected& message);
  // Returns the message that a receive would get now, or nullptr. The message goes on waiting.
  Unexpected* probe(const Pattern& pattern);
  // Does what probe() does, and the message waits no longer.
  Unexpected* take(const Pattern& pattern);

  // take_receives_of() is for a rank that has died. It removes the waiting receives that name this
  // rank as their source, and returns the first one, or nullptr. following() returns the next one,
  // in the order of posting, or nullptr behind the last.
  //
  // Receives from any source go on waiting, since the ranks that are left can complete them. A
  // source of kAny takes those, for when no rank is left. Messages that a dead rank has sent stay.
  Posted* take_receives_of(std::int32_t source);
  static Posted* following(const Posted& taken) { return taken.order_.next; }

  // Return the first waiting receive or message in the order, and the one after it, or nullptr.
  Posted* first_receive() const { return order_.first(); }
  Unexpected* first_message() const { return messages_.first(); }
  static Posted* after(const Posted& receive) { return receive.order_.next; }
  static Unexpected* after(const Unexpected& message) { return message.order_.next; }
  // Return the first waiting receive of exactly this pattern, and the next one of the same pattern,
  // in the order of posting, or nullptr.
  Posted* first_of(const Pattern& pattern) const { return receives_.find(pattern); }
  static Posted* next_of(Posted& receive) { return Index<PostedBy>::after(receive); }
  // Returns the earliest waiting receive with a wildcard that this message would fit, or nullptr.
  Posted* first_wild(const Envelope& envelope) const;

  const Counts& counts() const { return counts_; }

  // Marks contexts as unwanted: next_unwanted() reports each message that is kept there from now
  // on, once. Returns the contexts that were wanted until now.
  std::vector<ContextSet::Run> unwant(ContextSet::Run contexts) { return unwanted_.add(contexts); }
  // Ends that: messages of these contexts are not reported any more.
  void want(ContextSet::Run contexts) { unwanted_.remove(contexts); }
  bool is_unwanted(std::uint32_t context) const { return unwanted_.contains(context); }
  // Makes next_unwanted() report this unwanted context again, with any source and any tag.
  void tell_unwanted(std::uint32_t context) { unwanted_came_.push_back({context, kAny, kAny}); }
  // Returns the pattern of a message that was kept in an unwanted context, or std::nullopt. The
  // message may have been received since.
  std::optional<Pattern> next_unwanted();

 private:
  // Returns the first message that fits the pattern, or null. It goes on waiting.
  Unexpected* find(const Pattern& pattern);
  // Fills the index for searches with this wildcard, which is kept up from then on.
  void index_messages(Wild wild);
  // Counts a message that begins to wait, and notes it if its context is unwanted.
  void count(Unexpected& message);
  // These remove a waiting receive or message from all indexes.
  void forget(Posted& receive);
  void forget(Unexpected& message);
  // Removes the receives for which `which` is true. Returns the first, linked by following().
  template <class Which>
  Posted* take_receives(Which which);

  std::uint64_t turns_ = 0;
  Index<PostedBy> receives_;
  Order<PostedBy> order_;
  std::array<std::uint64_t, 4> waiting_{};  // waiting receives, by Wild
  Index<UnexpectedBy<Wild::none>> exact_;
  Index<UnexpectedBy<Wild::source>> any_source_;
  Index<UnexpectedBy<Wild::tag>> any_tag_;
  Index<UnexpectedBy<Wild::both>> any_;
  Order<UnexpectedBy<Wild::none>> messages_;
  // An index by a wildcard is kept up only if a search has used it since no message last waited.
  std::array<bool, 4> indexed_{true, false, false, false};
  Counts counts_;
  ContextSet unwanted_;
  std::vector<Pattern> unwanted_came_;
};

}  // namespace scela::channel
