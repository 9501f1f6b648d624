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

// The value to agree on. It is joined from the words that the ranks contribute.
struct AgreementValue {
  std::vector<std::uint64_t> ended;         // one bit for each rank; joined by or
  std::uint64_t flags = ~std::uint64_t{0};  // joined by and
  std::uint64_t highest = 0;                // the highest is taken
  std::uint32_t calls = 0;                  // the ranks' calls; joined by or

  explicit AgreementValue(int ranks = 0) : ended((static_cast<std::size_t>(ranks) + 63) / 64) {}
  bool has_ended(int rank) const { return (ended[place(rank)] >> bit(rank) & 1) != 0; }
  void mark_ended(int rank) { ended[place(rank)] |= std::uint64_t{1} << bit(rank); }
  // Joins another rank's value into this one, each member by the rule beside it.
  void join(const AgreementValue& other);
  friend bool operator==(const AgreementValue&, const AgreementValue&) = default;

 private:
  static std::size_t place(int rank) { return static_cast<std::size_t>(rank) / 64; }
  static unsigned bit(int rank) { return static_cast<unsigned>(rank) % 64; }
};

class Agreement {
 public:
  enum class Kind : std::uint8_t {
    contribute,  // sent to the leader
    propose,     // sent by the leader
    // Answers a proposal. It is sent to the leader, and its word is empty.
    accept,
    decide,  // a rank's last message to another
  };
  struct Message {
    Kind kind = Kind::contribute;
    std::int32_t accepted_of = -1;  // the proposer of `word`; -1: own word
    AgreementValue word;
    friend bool operator==(const Message&, const Message&) = default;
  };
  struct OutgoingMessage {
    int to = 0;
    Message message;
  };

  // `own` is the value that this rank contributes.
  Agreement(int rank, int ranks, AgreementValue own);

  // The functions below append the messages to be sent to `out`, in order. begin() is called once.
  void begin(std::vector<OutgoingMessage>& out);
  // Takes a message of rank `from`, also before begin(). Messages of ranks that are known to have
  // ended have no effect.
  void receive(int from, const Message& message, std::vector<OutgoingMessage>& out);
  // Reports that a rank has ended. Repeated reports have no effect.
  void ended(int rank, std::vector<OutgoingMessage>& out);

  // Returns the decided word, or null if none is decided yet.
  const AgreementValue* decided() const { return decided_ ? &*decided_ : nullptr; }
  // Returns true if this rank has decided and all ranks that live have told it so.
  bool done() const;
  // Returns true if this rank may still send a message.
  bool awaits(int rank) const { return !dead_[index(rank)] && !told_[index(rank)]; }
  bool has_ended(int rank) const { return dead_[index(rank)]; }
  // Appends the whole state as numbers, for tests that visit each state once.
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
  std::vector<bool> dead_;   // by rank: it is known to have ended
  int contributed_to_ = -1;  // the leader that has it; -1: none
  int accepted_of_ = -1;     // the proposer of accepted_; -1: none
  AgreementValue accepted_;
  // These are used by the leader.
  std::vector<std::optional<Message>> contributions_;
  bool proposed_ = false;
  std::vector<bool> accepts_;
  std::optional<AgreementValue> decided_;
  std::vector<bool> told_;  // by rank: it has told its decision
};

}  // namespace scela::collectives
