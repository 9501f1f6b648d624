// An Agreement is one rank's part in agreeing on a value among the ranks that live, whichever ranks
// die meanwhile (docs/design/collectives.md, Agreement). Any two ranks that decide decide the same,
// even if they die later. collectives/communicator/agree.h uses it. It has no transport and never
// blocks: the caller passes events in, and sends the messages that come out. Two threads must not
// use it at once.
//
// The lowest rank that lives is the leader. It joins the contributions of the others, proposes the
// result, and decides once all ranks that live have accepted it. If it dies, the next rank leads,
// and each rank tells it the proposal that it has accepted. If there is one, that is proposed
// again, since it may have been decided. A rank that decides tells all others. It is done when all
// ranks that live have told it their decision. So no rank has to answer afterwards, and no message
// is left.
//
// The caller must provide the following. Messages between two ranks arrive in order, and none is
// lost between ranks that live. Each rank is told of the ranks that have died. No rank that lives
// is reported dead. Ranks are numbered within the group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace scela::collectives {

// The value to agree on. Each rank contributes one, and they are joined into the decided one.
struct AgreementValue {
  std::vector<std::uint64_t> ended;         // a bit a rank, 64 a word; joined by or
  std::uint64_t flags = ~std::uint64_t{0};  // joined by and
  std::uint64_t highest = 0;                // joined by taking the maximum
  std::uint32_t calls = 0;                  // bits of the calls made; joined by or

  // `ranks` is the number of ranks of the group. No rank is marked as ended.
  explicit AgreementValue(int ranks = 0) : ended((static_cast<std::size_t>(ranks) + 63) / 64) {}
  // Returns true if mark_ended() was called for this rank, here or in a joined value.
  bool has_ended(int rank) const { return (ended[place(rank)] >> bit(rank) & 1) != 0; }
  void mark_ended(int rank) { ended[place(rank)] |= std::uint64_t{1} << bit(rank); }
  // Joins another rank's value for the same group into this one, each member by the rule beside it.
  void join(const AgreementValue& other);
  friend bool operator==(const AgreementValue&, const AgreementValue&) = default;

 private:
  static std::size_t place(int rank) { return static_cast<std::size_t>(rank) / 64; }
  static unsigned bit(int rank) { return static_cast<unsigned>(rank) % 64; }
};

// One rank's part in one agreement.
class Agreement {
 public:
  // The kinds of messages between two ranks.
  enum class Kind : std::uint8_t {
    contribute,  // gives the leader the sender's value
    propose,     // the leader's joined value
    // Answers a proposal. Its sender gives it to the leader, and its word is empty.
    accept,
    decide,  // the decided value; last to that rank
  };
  // One message; agreement_frame.h encodes it.
  struct Message {
    Kind kind = Kind::contribute;
    // The rank that has proposed `word`; -1 if none has, as in decide. In contribute -1 says that
    // `word` is the sender's own value. Otherwise `word` is the proposal that the sender has
    // accepted.
    std::int32_t accepted_of = -1;
    AgreementValue word;
    friend bool operator==(const Message&, const Message&) = default;
  };
  // A message that the caller must send to the rank `to`.
  struct OutgoingMessage {
    int to = 0;
    Message message;
  };

  // `rank` is this rank, below `ranks`, the number of ranks of the group. `own` is the value that
  // this rank contributes, for so many ranks.
  Agreement(int rank, int ranks, AgreementValue own);

  // The functions up to ended() append messages to `out`. The caller must send them in that order.
  //
  // Begins this rank's part. It is called once.
  void begin(std::vector<OutgoingMessage>& out);
  // Handles a message of the rank `from`. It may come before begin(). Messages of ranks that are
  // known to have ended have no effect.
  void receive(int from, const Message& message, std::vector<OutgoingMessage>& out);
  // Reports that a rank has ended. Repeated reports have no effect.
  void ended(int rank, std::vector<OutgoingMessage>& out);

  // Returns the decided value, or null if none is decided yet.
  const AgreementValue* decided() const { return decided_ ? &*decided_ : nullptr; }
  // Returns true if this rank has decided and all ranks that live have sent it their decisions.
  // Then it needs no further message, and sends none.
  bool done() const;
  // Returns true if the rank was reported as ended.
  bool has_ended(int rank) const { return dead_[index(rank)]; }
  // Appends the whole state as numbers. Tests that visit each state once compare them.
  void describe(std::vector<std::uint64_t>& out) const;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  // Notes that a rank has ended, unless it is this rank.
  void mark_dead(int rank);
  // Does what is possible now. It contributes if the leader is a new one, and leads if this rank is
  // the leader. It does nothing before begin() or after the decision.
  void get_on(std::vector<OutgoingMessage>& out);
  // Gives the leader this rank's own value, or the proposal that this rank has accepted.
  void contribute(std::vector<OutgoingMessage>& out);
  // Does the leader's part. It proposes once all ranks that live have contributed, and decides once
  // all of them have accepted.
  void ask_for_all(std::vector<OutgoingMessage>& out);
  // Decides this word, and tells all other ranks, dead ones included.
  void decide(const AgreementValue& word, std::vector<OutgoingMessage>& out);
  // Returns the lowest rank that is not known to have ended: the leader.
  int first_alive() const;
  // Returns true if has(rank) is true for all ranks that are not known to have ended.
  template <class Has>
  bool all_alive(Has has) const;

  int rank_;
  int ranks_;
  AgreementValue own_;
  bool begun_ = false;
  std::vector<bool> dead_;   // by rank: known to have ended
  int contributed_to_ = -1;  // rank of the last contribute; -1: none
  int accepted_of_ = -1;     // the proposer of accepted_; -1: none
  AgreementValue accepted_;
  // These are used by the leader.
  std::vector<std::optional<Message>> contributions_;  // by rank
  bool proposed_ = false;
  std::vector<bool> accepts_;  // by rank
  std::optional<AgreementValue> decided_;
  std::vector<bool> told_;  // by rank: it has sent its decision
};

}  // namespace scela::collectives
