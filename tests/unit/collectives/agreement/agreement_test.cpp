// Tests that ranks agree while others die. For few ranks it tries every order of messages, deaths
// and news of deaths. For many ranks it tries random orders.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "collectives/agreement/agreement.h"
#include "collectives/agreement/agreement_frame.h"
#include "common/core/random.h"
#include "common/core/text.h"

namespace scela::collectives::test::agreement_test {
namespace {

using Kind = Agreement::Kind;
using OutgoingMessage = Agreement::OutgoingMessage;
using Message = Agreement::Message;

AgreementValue own_word(int rank, int ranks) {
  AgreementValue word(ranks);
  word.flags = ~(std::uint64_t{1} << rank);
  word.highest = static_cast<std::uint64_t>(100 + rank);
  word.calls = 1;
  return word;
}

// Returns what is wrong with a decision, given which ranks are dead; empty if nothing is.
std::string wrong_with(const AgreementValue& word, const std::vector<bool>& dead) {
  for (std::size_t i = 0; i < dead.size(); ++i) {
    const auto rank = static_cast<int>(i);
    if (dead[i]) continue;
    if (word.has_ended(rank)) return cat("rank ", rank, " is said to have ended, and lives");
    if ((word.flags >> rank & 1) != 0 || word.highest < static_cast<std::uint64_t>(100 + rank))
      return cat("what rank ", rank, " has contributed is missing");
  }
  return {};
}

// ---- every order ----

// Numbers the messages, so that a state can hold numbers and stays small.
class Names {
 public:
  std::uint32_t of(const Message& message) {
    const std::vector<std::byte> frame = to_frame(message);
    std::string key(reinterpret_cast<const char*>(frame.data()), frame.size());
    const auto [at, added] = numbers_.emplace(std::move(key), messages_.size());
    if (added) messages_.push_back(message);
    return static_cast<std::uint32_t>(at->second);
  }
  const Message& message(std::uint32_t number) const { return messages_[number]; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<Message> messages_;
};

struct Two64 {
  std::uint64_t a = 0x243f6a8885a308d3u;
  std::uint64_t b = 0x13198a2e03707344u;
  void add(std::uint64_t value) {
    a = (a ^ value) * 0x9e3779b97f4a7c15u;
    a ^= a >> 29;
    b = (b + value) * 0xbf58476d1ce4e5b9u;
    b ^= b >> 31;
  }
  friend bool operator==(const Two64&, const Two64&) = default;
};
struct HashOf {
  std::size_t operator()(const Two64& one) const { return one.a; }
};

struct Node {
  explicit Node(Agreement machine) : agreement(std::move(machine)) {
    std::vector<std::uint64_t> all;
    agreement.describe(all);
    for (const std::uint64_t value : all)
      hash.add(value);
  }
  Agreement agreement;
  Two64 hash;
};

constexpr int kMax = 5;

struct State {
  std::array<std::shared_ptr<const Node>, kMax> nodes;                       // null: dead
  std::array<std::array<std::vector<std::uint32_t>, kMax>, kMax> under_way;  // from, to
  std::shared_ptr<const AgreementValue> decided;                             // by any rank
};

class Explorer {
 public:
  Explorer(int ranks, int deaths) : ranks_(ranks), deaths_(deaths) {}

  // Returns the first error found in any order; empty if there is none.
  std::string explore() {
    State first;
    for (int rank = 0; rank < ranks_; ++rank)
      act(first, rank, Agreement(rank, ranks_, own_word(rank, ranks_)),
          [](Agreement& one, std::vector<OutgoingMessage>& out) { one.begin(out); });
    begun_ = ranks_;
    visit(std::move(first));
    while (!open_.empty() && wrong_.empty()) {
      const State state = std::move(open_.back());
      open_.pop_back();
      follow(state);
    }
    return wrong_;
  }
  std::size_t states() const { return seen_.size(); }
  std::size_t ends() const { return ends_; }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  // Returns false for ranks that have not begun.
  bool is_dead(const State& state, int rank) const {
    return rank < begun_ && state.nodes[index(rank)] == nullptr;
  }

  template <class Act>
  void act(State& state, int rank, Agreement machine, Act what) {
    std::vector<OutgoingMessage> out;
    what(machine, out);
    for (const OutgoingMessage& message_out : out)
      if (!is_dead(state, message_out.to))
        state.under_way[index(rank)][index(message_out.to)].push_back(
            names_.of(message_out.message));
    // A rank ignores messages from a rank that it knows is dead.
    for (int other = 0; other < ranks_; ++other)
      if (machine.has_ended(other)) state.under_way[index(other)][index(rank)].clear();
    if (const AgreementValue* const decided = machine.decided()) {
      if (state.decided && *state.decided != *decided && wrong_.empty())
        wrong_ = cat("rank ", rank, " decides otherwise than another did");
      if (!state.decided) state.decided = std::make_shared<const AgreementValue>(*decided);
    }
    state.nodes[index(rank)] = std::make_shared<const Node>(std::move(machine));
  }

  void deliver(State state, int from, int to) {
    auto& queue = state.under_way[index(from)][index(to)];
    const Message& message = names_.message(queue.front());
    queue.erase(queue.begin());
    act(state, to, state.nodes[index(to)]->agreement,
        [&](Agreement& one, std::vector<OutgoingMessage>& out) {
          one.receive(from, message, out);
        });
    visit(std::move(state));
  }

  void kill(State state, int rank) {
    state.nodes[index(rank)] = nullptr;
    for (int other = 0; other < ranks_; ++other)
      state.under_way[index(other)][index(rank)].clear();
    visit(std::move(state));
  }

  // Messages of the dead rank that have not arrived never arrive: it died before it sent them.
  void tell(State state, int dead, int rank) {
    state.under_way[index(dead)][index(rank)].clear();
    act(state, rank, state.nodes[index(rank)]->agreement,
        [&](Agreement& one, std::vector<OutgoingMessage>& out) { one.ended(dead, out); });
    visit(std::move(state));
  }

  void follow(const State& state) {
    // A decision for a rank that has decided changes only what that rank was told. Its place in the
    // order makes no difference, so it is delivered next.
    for (int from = 0; from < ranks_; ++from)
      for (int to = 0; to < ranks_; ++to) {
        const auto& queue = state.under_way[index(from)][index(to)];
        if (state.nodes[index(to)] == nullptr || queue.empty()) continue;
        if (names_.message(queue.front()).kind == Kind::decide &&
            state.nodes[index(to)]->agreement.decided() != nullptr)
          return deliver(state, from, to);
      }
    bool stuck = true;
    int dead = 0;
    for (int from = 0; from < ranks_; ++from) {
      if (state.nodes[index(from)] == nullptr) ++dead;
      for (int to = 0; to < ranks_; ++to) {
        if (from == to || state.nodes[index(to)] == nullptr) continue;
        if (!state.under_way[index(from)][index(to)].empty()) {
          stuck = false;
          deliver(state, from, to);
        }
        if (state.nodes[index(from)] == nullptr &&
            !state.nodes[index(to)]->agreement.has_ended(from)) {
          stuck = false;
          tell(state, from, to);
        }
      }
    }
    if (stuck) end(state);
    if (dead < deaths_)
      for (int rank = 0; rank < ranks_; ++rank)
        if (state.nodes[index(rank)] != nullptr) kill(state, rank);
  }

  void end(const State& state) {
    ++ends_;
    std::vector<bool> dead(index(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) {
      dead[index(rank)] = state.nodes[index(rank)] == nullptr;
      if (!dead[index(rank)] && !state.nodes[index(rank)]->agreement.done() && wrong_.empty())
        wrong_ = cat("rank ", rank, " waits for ever");
    }
    if (state.decided && wrong_.empty()) wrong_ = wrong_with(*state.decided, dead);
  }

  void visit(State state) {
    Two64 hash;
    for (int rank = 0; rank < ranks_; ++rank) {
      const Node* const node = state.nodes[index(rank)].get();
      hash.add(node == nullptr ? 0 : 1);
      if (node != nullptr) {
        hash.add(node->hash.a);
        hash.add(node->hash.b);
      }
      for (int other = 0; other < ranks_; ++other) {
        const auto& queue = state.under_way[index(rank)][index(other)];
        hash.add(queue.size());
        for (const std::uint32_t name : queue)
          hash.add(name);
      }
    }
    hash.add(state.decided ? 1 : 0);
    if (state.decided) {
      hash.add(state.decided->flags);
      hash.add(state.decided->ended[0]);
    }
    if (seen_.insert(hash).second) open_.push_back(std::move(state));
  }

  const int ranks_;
  const int deaths_;
  Names names_;
  std::unordered_set<Two64, HashOf> seen_;
  std::vector<State> open_;
  std::size_t ends_ = 0;
  int begun_ = 0;
  std::string wrong_;
};

TEST_CASE("agreement: in every order and with deaths at every step, all ranks that decide agree") {
  const auto [ranks, deaths] = GENERATE(table<int, int>({{1, 0},
                                                         {2, 0},
                                                         {2, 1},
                                                         {2, 2},
                                                         {3, 0},
                                                         {3, 1},
                                                         {3, 2},
                                                         {3, 3},
                                                         {4, 0},
                                                         {4, 1},
                                                         {4, 2},
                                                         {4, 3},
                                                         {5, 1}}));
  Explorer explorer(ranks, deaths);
  INFO(ranks << " ranks, " << deaths << " deaths");
  CHECK(explorer.explore() == "");
  CHECK(explorer.ends() > 0);
  CHECK((ranks < 4 || deaths < 2 || explorer.states() > 10'000));
}

// ---- at random ----

std::string run_at_random(int ranks, int deaths, std::uint64_t seed, std::size_t& sent) {
  Random random(seed);
  std::vector<Agreement> all;
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::vector<std::vector<Message>>> under_way(
      count, std::vector<std::vector<Message>>(count));
  std::vector<bool> dead(count);
  const auto post = [&](std::size_t from, const std::vector<OutgoingMessage>& out) {
    sent += out.size();
    for (const OutgoingMessage& message_out : out)
      under_way[from][static_cast<std::size_t>(message_out.to)].push_back(message_out.message);
  };
  for (int rank = 0; rank < ranks; ++rank)
    all.emplace_back(rank, ranks, own_word(rank, ranks));
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::vector<OutgoingMessage> out;
    all[rank].begin(out);
    post(rank, out);
  }
  std::optional<AgreementValue> decided;
  for (int idle = 0; idle < 3;) {
    std::vector<std::pair<std::size_t, std::size_t>> able;
    for (std::size_t from = 0; from < count; ++from)
      for (std::size_t to = 0; to < count; ++to)
        if (from != to && !dead[to] &&
            (!under_way[from][to].empty() ||
             (dead[from] && !all[to].has_ended(static_cast<int>(from)))))
          able.emplace_back(from, to);
    if (able.empty()) ++idle;
    if (deaths > 0 && (able.empty() || random.chance(1, 40))) {
      --deaths;
      dead[random.below(count)] = true;
      continue;
    }
    if (able.empty()) continue;
    const auto [from, to] = able[random.below(able.size())];
    auto& queue = under_way[from][to];
    std::vector<OutgoingMessage> out;
    if (dead[from] && (queue.empty() || random.chance(1, 3))) {
      queue.clear();
      all[to].ended(static_cast<int>(from), out);
    } else {
      const Message message = queue.front();
      queue.erase(queue.begin());
      all[to].receive(static_cast<int>(from), message, out);
    }
    post(to, out);
    if (const AgreementValue* const word = all[to].decided()) {
      if (decided && *decided != *word) return cat("rank ", to, " decides otherwise");
      decided = *word;
    }
  }
  for (std::size_t rank = 0; rank < count; ++rank)
    if (!dead[rank] && !all[rank].done()) return cat("rank ", rank, " waits for ever");
  return decided ? wrong_with(*decided, dead) : "";
}

TEST_CASE("agreement: up to 64 ranks that die at random agree") {
  for (const int ranks : {1, 2, 5, 8, 13, 33, 64}) {
    for (std::uint64_t seed = 0; seed < (ranks > 20 ? 4u : 60u); ++seed) {
      INFO(ranks << " ranks, seed " << seed);
      std::size_t sent = 0;
      REQUIRE(run_at_random(ranks, static_cast<int>(seed % static_cast<unsigned>(ranks)), seed,
                            sent) == "");
    }
  }
}

TEST_CASE("agreement: without deaths a rank sends three messages, and one to each other rank") {
  for (const int ranks : {1, 2, 3, 16, 64}) {
    std::size_t sent = 0;
    REQUIRE(run_at_random(ranks, 0, 1, sent) == "");
    const auto n = static_cast<std::size_t>(ranks);
    CHECK(sent == 3 * (n - 1) + n * (n - 1));
  }
}

TEST_CASE("agreement: the decision joins the contributions of all ranks") {
  AgreementValue one(70);
  one.flags = 0b1101;
  one.highest = 7;
  one.calls = 1;
  one.mark_ended(69);
  AgreementValue other(70);
  other.flags = 0b0111;
  other.highest = 5;
  other.calls = 2;
  other.mark_ended(3);
  one.join(other);
  CHECK(one.flags == 0b0101);
  CHECK(one.highest == 7);
  CHECK(one.calls == 3);
  CHECK(one.has_ended(69));
  CHECK(one.has_ended(3));
  CHECK_FALSE(one.has_ended(68));
}

TEST_CASE("agreement: a live rank that others believe dead learns this from the decision") {
  Agreement first(0, 2, own_word(0, 2));
  Agreement second(1, 2, own_word(1, 2));
  std::vector<OutgoingMessage> out;
  first.begin(out);
  first.ended(1, out);
  REQUIRE(first.done());
  REQUIRE(out.size() == 1);
  std::vector<OutgoingMessage> answers;
  second.begin(answers);
  second.receive(0, out.front().message, answers);
  REQUIRE(second.done());
  CHECK(second.decided()->has_ended(1));
}

TEST_CASE("agreement: messages come back from their bytes, and others are refused") {
  Message message;
  message.kind = Kind::propose;
  message.accepted_of = 64;
  message.word = own_word(3, 65);
  message.word.mark_ended(64);
  const std::vector<std::byte> bytes = to_frame(message);
  CHECK(bytes.size() == frame_bytes(65));
  CHECK(from_frame(bytes, 65) == message);
  CHECK_FALSE(from_frame(bytes, 64));  // another length than any proposal
  CHECK_FALSE(from_frame(std::span(bytes).first(bytes.size() - 1), 65));
  for (const std::size_t at : {0u, 4u, 11u}) {
    std::vector<std::byte> other = bytes;
    other[at] = std::byte{0x77};
    CHECK_FALSE(from_frame(other, 65));
  }
}

}  // namespace
}  // namespace scela::collectives::test::agreement_test
