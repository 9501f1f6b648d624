// Agreeing on a value among those who live, whoever dies meanwhile (docs/collectives.md,
// Agreement). Any two ranks that decide have decided the same, also those that die later.
//
// The lowest rank that lives asks for all. It joins what the others contribute, proposes that,
// and decides when all who live have accepted. Who dies is followed by the next one, who is told by
// each what it has accepted: if one of them has, that is proposed again, since it may have been
// decided. Whoever decides tells all others, and is done when all who live have told it, so that
// nobody has to answer afterwards and no message is left.
//
// What it needs: messages of two ranks come in their order, none is lost between ranks that live,
// everyone is told who has died, and who lives is not said to have. Ranks are those of the group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace scela::collectives {

// What is agreed on: joined of what each rank contributes.
struct Word {
  std::vector<std::uint64_t> ended;         // a bit for each rank: or
  std::uint64_t flags = ~std::uint64_t{0};  // and
  std::uint64_t highest = 0;                // the highest of all
  std::uint32_t calls = 0;                  // or: what the ranks have called

  explicit Word(int ranks = 0) : ended((static_cast<std::size_t>(ranks) + 63) / 64) {}
  bool has_ended(int rank) const { return (ended[place(rank)] >> bit(rank) & 1) != 0; }
  void mark_ended(int rank) { ended[place(rank)] |= std::uint64_t{1} << bit(rank); }
  void join(const Word& other);
  friend bool operator==(const Word&, const Word&) = default;

 private:
  static std::size_t place(int rank) { return static_cast<std::size_t>(rank) / 64; }
  static unsigned bit(int rank) { return static_cast<unsigned>(rank) % 64; }
};

class Agreement {
 public:
  enum class Kind : std::uint8_t {
    contribute,  // to who asks for all
    propose,     // by it
    accept,
    decide,  // the last message of a rank to another
  };
  struct Message {
    Kind kind = Kind::contribute;
    std::int32_t accepted_of = -1;  // contributions: whose proposal `word` is; -1: its own
    Word word;
    friend bool operator==(const Message&, const Message&) = default;
  };
  struct Letter {
    int to = 0;
    Message message;
  };

  Agreement(int rank, int ranks, Word own);

  // What is to be sent is put behind `out`, in order.
  void begin(std::vector<Letter>& out);
  void receive(int from, const Message& message, std::vector<Letter>& out);
  // It may be told again and again.
  void ended(int rank, std::vector<Letter>& out);

  // What was decided; null: nothing yet.
  const Word* decided() const { return decided_ ? &*decided_ : nullptr; }
  // It is decided, and everyone who lives has said so.
  bool done() const;
  // Whether it may send more.
  bool awaits(int rank) const { return !dead_[index(rank)] && !told_[index(rank)]; }
  bool has_ended(int rank) const { return dead_[index(rank)]; }
  // All that it knows, in numbers: for tests that look at every state once.
  void describe(std::vector<std::uint64_t>& out) const;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  void mark_dead(int rank);
  void get_on(std::vector<Letter>& out);
  void contribute(std::vector<Letter>& out);
  void ask_for_all(std::vector<Letter>& out);
  void decide(const Word& word, std::vector<Letter>& out);
  int first_alive() const;
  template <class Has>
  bool all_alive(Has has) const;

  int rank_;
  int ranks_;
  Word own_;
  bool begun_ = false;
  std::vector<bool> dead_;
  int contributed_to_ = -1;
  int accepted_of_ = -1;  // who has proposed accepted_; -1: nobody
  Word accepted_;
  // Of who asks for all.
  std::vector<std::optional<Message>> contributions_;
  bool proposed_ = false;
  std::vector<bool> accepts_;
  std::optional<Word> decided_;
  std::vector<bool> told_;  // who has told this rank what was decided
};

}  // namespace scela::collectives
