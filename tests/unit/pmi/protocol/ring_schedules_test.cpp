// Runs both ends of a ring under every schedule with up to three preemptions. Each access to the
// memory is one step, and the other end may run between any two steps. All accesses are
// sequentially consistent, so machines run the same schedules.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "pmi/protocol/ring.h"

namespace ring_schedules_test {

namespace ring = scela::pmi::ring;

namespace {

constexpr std::size_t kRoom = 4;
constexpr std::string_view kMessage = "echoed";  // longer than the room
// All ranks of a node share one doorbell. This is how often another rank rings it, each time at the
// worst moment.
constexpr int kOthersRing = 2;
enum Actor : std::size_t { rank = 0, agent = 1 };

struct Over {};  // thrown to an actor that must not go on

// Lets one of two actors run. It changes actors at the given steps, and when the running actor must
// wait.
class Baton {
 public:
  Baton(std::array<int, 3> preempt_at, int kill_rank_at)
      : preempt_at_(preempt_at), kill_rank_at_(kill_rank_at) {}

  void step(Actor who) {
    std::unique_lock lock(mutex_);
    ++steps_;
    if (who == rank && steps_ == kill_rank_at_) throw Over();
    const bool preempted =
        std::find(preempt_at_.begin(), preempt_at_.end(), steps_) != preempt_at_.end();
    if (preempted && may_run(other(who))) pass_to(other(who), lock, who);
  }
  void wait(Actor who, const std::function<bool()>& until) {
    std::unique_lock lock(mutex_);
    while (!until()) {
      waits_[who] = until;
      if (!may_run(other(who))) {
        stuck_ = true;
        turn_.notify_all();
        throw Over();
      }
      pass_to(other(who), lock, who);
    }
    waits_[who] = nullptr;
  }
  void run(Actor who, const std::function<void()>& what) {
    try {
      {
        std::unique_lock lock(mutex_);
        turn_.wait(lock, [&] { return running_ == who || stuck_; });
      }
      what();
    } catch (const Over&) {
    }
    const std::lock_guard lock(mutex_);
    ended_[who] = true;
    running_ = other(who);
    turn_.notify_all();
  }
  bool stuck() const { return stuck_; }
  int steps() const { return steps_; }

 private:
  static Actor other(Actor who) { return who == rank ? agent : rank; }
  bool may_run(Actor who) const { return !ended_[who] && (!waits_[who] || waits_[who]()); }
  void pass_to(Actor next, std::unique_lock<std::mutex>& lock, Actor who) {
    running_ = next;
    turn_.notify_all();
    turn_.wait(lock, [&] { return running_ == who || stuck_; });
    if (stuck_) throw Over();
  }

  std::array<int, 3> preempt_at_;
  int kill_rank_at_;
  std::mutex mutex_;
  std::condition_variable turn_;
  Actor running_ = rank;
  std::array<bool, 2> ended_{};
  std::array<std::function<bool()>, 2> waits_;
  int steps_ = 0;
  bool stuck_ = false;
};

struct Words {
  std::array<std::uint64_t, ring::kHeaderWords> words{};
  std::array<char, ring::kRequestsAt + 2 * kRoom> bytes{};
  int doorbell = 0;
  int wakes = 0;
};

// The memory as one actor sees it.
class SteppedMemory {
 public:
  SteppedMemory(Words& words, Baton* const& baton, Actor who)
      : words_(&words), baton_(&baton), who_(who) {}
  static constexpr std::size_t capacity() { return kRoom; }
  std::uint64_t load(ring::Word word) const { return at(word); }
  void store(ring::Word word, std::uint64_t value) { at(word) = value; }
  std::uint64_t exchange(ring::Word word, std::uint64_t value) {
    return std::exchange(at(word), value);
  }
  void copy_in(std::size_t offset, const char* from, std::size_t size) {
    std::copy_n(from, size, words_->bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void copy_out(std::size_t offset, char* to, std::size_t size) const {
    std::copy_n(words_->bytes.begin() + static_cast<std::ptrdiff_t>(offset), size, to);
  }

 private:
  std::uint64_t& at(ring::Word word) const {
    if (*baton_ != nullptr) (*baton_)->step(who_);
    return words_->words[word];
  }
  Words* words_;
  Baton* const* baton_;
  Actor who_;
};

struct Ending {
  bool stuck = false;
  int steps = 0;
  std::string received;  // the bytes that the rank received
  std::string heard;     // the bytes that the agent received
  bool malformed = false;
};

void be_rank(Words& words, Baton& baton, Ending& end) {
  Baton* const steps = &baton;
  ring::ClientEndOf<SteppedMemory> client(SteppedMemory(words, steps, rank));
  std::string_view rest = kMessage;
  char out[kRoom];
  while (end.received.size() < kMessage.size()) {
    const int wakes = words.wakes;
    const std::uint64_t seen = client.noted();
    bool rings = false;
    const auto wrote = client.write(rest, rings);
    rest.remove_prefix(wrote.value_or(0));
    if (rings) ++words.doorbell;
    const auto got = client.read(out, sizeof out, rings);
    if (rings) ++words.doorbell;
    end.malformed = end.malformed || !wrote || !got;
    end.received.append(out, got.value_or(0));
    if (wrote.value_or(0) + got.value_or(0) > 0) continue;
    if (client.sleeps(seen, rest.empty() ? ring::kForAnswers : ring::kForRoom)) {
      // The rank enters the futex only if the word has not changed.
      baton.wait(rank, [&] { return words.wakes != wakes || words.words[ring::news] != seen; });
    }
    client.awake();
  }
}

void be_agent(Words& words, Baton& baton, Ending& end, ring::ServerEndOf<SteppedMemory>& server) {
  std::string owed;
  char in[kRoom];
  std::size_t echoed = 0;
  int others = kOthersRing;
  while (echoed < kMessage.size()) {
    baton.wait(agent, [&] { return words.doorbell > 0 || others > 0; });
    if (words.doorbell == 0) --others;
    words.doorbell = 0;
    bool again = server.calls(true);
    while (again) {
      const auto got = server.read(in, sizeof in);
      end.malformed = end.malformed || !got;
      end.heard.append(in, got.value_or(0));
      owed.append(in, got.value_or(0));
      const auto wrote = server.write(owed);
      end.malformed = end.malformed || !wrote;
      echoed += wrote.value_or(0);
      owed.erase(0, wrote.value_or(0));
      if (server.tell()) ++words.wakes;
      again = server.arm();
    }
  }
}

Ending play(std::array<int, 3> preempt_at, int kill_rank_at) {
  Ending end;
  Words words;
  Baton baton(preempt_at, kill_rank_at);
  Baton* steps = nullptr;  // the set-up takes no steps
  ring::ServerEndOf<SteppedMemory> server(SteppedMemory(words, steps, agent), 1);
  steps = &baton;
  std::thread other([&] { baton.run(agent, [&] { be_agent(words, baton, end, server); }); });
  baton.run(rank, [&] { be_rank(words, baton, end); });
  other.join();
  end.stuck = baton.stuck();
  end.steps = baton.steps();
  return end;
}

}  // namespace

TEST_CASE("no schedule of a rank and its agent loses a wake-up") {
  const Ending plain = play({0, 0, 0}, 0);
  REQUIRE(plain.received == kMessage);
  REQUIRE(plain.steps > 40);
  int played = 0;
  // The loop ends if the last preemption comes after the run.
  const auto plays = [&played, &plain](std::array<int, 3> at) {
    const Ending end = play(at, 0);
    INFO("preempted at " << at[0] << ", " << at[1] << " and " << at[2]);
    REQUIRE_FALSE(end.stuck);
    REQUIRE_FALSE(end.malformed);
    REQUIRE(end.received == kMessage);
    ++played;
    return at[2] <= end.steps && at[2] < 3 * plain.steps;
  };
  for (int first = 1; first < plain.steps; ++first) {
    for (int second = first + 1; second < plain.steps + first; ++second) {
      for (int third = second + 1; plays({first, second, third}); ++third) {
      }
    }
  }
  CHECK(played > 5000);
}

TEST_CASE(
    "a rank that is killed at any step of any schedule leaves its requests, and an agent at rest") {
  const int steps = play({0, 0, 0}, 0).steps + 20;
  for (int killed = 1; killed < steps; ++killed) {
    for (int first = 0; first < killed; ++first) {
      const Ending end = play({first, 0, 0}, killed);
      INFO("preempted at " << first << ", killed at " << killed);
      REQUIRE_FALSE(end.malformed);
      REQUIRE(kMessage.substr(0, end.heard.size()) == end.heard);
      REQUIRE(end.heard.substr(0, end.received.size()) == end.received);
    }
  }
}

}  // namespace ring_schedules_test
