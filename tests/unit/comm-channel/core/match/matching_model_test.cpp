// Does random receives, messages, cancels, probes and deaths, with the matcher and with two plain
// lists that are searched from their beginnings.
//
// SCELA_MATCHING_OPERATIONS=N in the environment does N operations for each seed.
// SCELA_MATCHING_SEED=N runs that seed only.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "comm-channel/core/match/matching.h"
#include "common/core/random.h"

namespace scela::channel::matching_model_test {
namespace {

struct NumberedReceive : Posted {
  int number = 0;
};
struct NumberedMessage : Unexpected {
  int number = 0;
};
constexpr int kNobody = -1;

class Model {
 public:
  int post(int number, const Pattern& pattern) {
    const int message = probe(pattern);
    if (message == kNobody)
      receives.push_back({number, pattern});
    else
      drop(message);
    return message;
  }
  int arrived(const Envelope& envelope) {
    const auto found = std::find_if(receives.begin(), receives.end(),
                                    [&](const auto& r) { return fits(r.pattern, envelope); });
    if (found == receives.end()) return kNobody;
    const int number = found->number;
    receives.erase(found);
    return number;
  }
  void keep(int number, const Envelope& envelope, std::uint64_t kept) {
    messages.push_back({number, envelope, kept});
  }
  bool cancel(int number) {
    return std::erase_if(receives, [&](const auto& r) { return r.number == number; }) != 0;
  }
  bool drop(int number) {
    return std::erase_if(messages, [&](const auto& m) { return m.number == number; }) != 0;
  }
  int probe(const Pattern& pattern) const {
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const auto& m) { return fits(pattern, m.envelope); });
    return found == messages.end() ? kNobody : found->number;
  }
  std::vector<int> take_of(std::int32_t source) {
    std::vector<int> taken;
    for (const auto& r : receives)
      if (r.pattern.source == source) taken.push_back(r.number);
    std::erase_if(receives, [&](const auto& r) { return r.pattern.source == source; });
    return taken;
  }

  struct Receive {
    int number;
    Pattern pattern;
  };
  struct Message {
    int number;
    Envelope envelope;
    std::uint64_t kept;
  };
  std::vector<Receive> receives;
  std::vector<Message> messages;
};

// Says how many different keys a run has, how often a wildcard comes, and if receives or messages
// prevail.
struct Mix {
  std::uint32_t contexts, sources, tags;
  std::uint64_t wild_percent, post_percent;
};

class Both {
 public:
  Both(std::uint64_t seed, const Mix& mix) : random_(seed), mix_(mix) {}

  void step() {
    const std::uint64_t kind = random_.below(1000);
    if (kind < 880) {
      if (random_.chance(mix_.post_percent, 100))
        post();
      else
        arrive();
    } else if (kind < 920) {
      cancel();
    } else if (kind < 950) {
      const Pattern pattern = random_pattern();
      REQUIRE(number_of(matcher_.probe(pattern)) == model_.probe(pattern));
    } else if (kind < 980) {
      const Pattern pattern = random_pattern();
      const int expected = model_.probe(pattern);
      model_.drop(expected);
      REQUIRE(number_of(matcher_.take(pattern)) == expected);
    } else if (kind < 999) {
      drop();
    } else if (random_.chance(1, 10)) {
      die();
    }
    compare_counts();
  }

  void compare_all() const {
    auto receive = model_.receives.begin();
    for (const Posted* posted = matcher_.first_receive(); posted != nullptr;
         posted = Matcher::after(*posted), ++receive) {
      REQUIRE(receive != model_.receives.end());
      REQUIRE(number_of(posted) == receive->number);
    }
    REQUIRE(receive == model_.receives.end());
    auto message = model_.messages.begin();
    for (const Unexpected* unexpected = matcher_.first_message(); unexpected != nullptr;
         unexpected = Matcher::after(*unexpected), ++message) {
      REQUIRE(message != model_.messages.end());
      REQUIRE(number_of(unexpected) == message->number);
    }
    REQUIRE(message == model_.messages.end());
  }

 private:
  static int number_of(const Posted* posted) {
    return posted == nullptr ? kNobody : static_cast<const NumberedReceive*>(posted)->number;
  }
  static int number_of(const Unexpected* unexpected) {
    return unexpected == nullptr ? kNobody
                                 : static_cast<const NumberedMessage*>(unexpected)->number;
  }

  Envelope random_envelope() {
    return {static_cast<std::uint32_t>(random_.below(mix_.contexts)),
            static_cast<std::int32_t>(random_.below(mix_.sources)),
            static_cast<std::int32_t>(random_.below(mix_.tags)), random_.below(100)};
  }
  Pattern random_pattern() {
    const Envelope envelope = random_envelope();
    Pattern pattern{envelope.context, envelope.source, envelope.tag};
    if (random_.chance(mix_.wild_percent, 100)) pattern.source = kAny;
    if (random_.chance(mix_.wild_percent, 100)) pattern.tag = kAny;
    return pattern;
  }

  void post() {
    auto& receive = *receives_.emplace_back(std::make_unique<NumberedReceive>());
    receive.number = static_cast<int>(receives_.size()) - 1;
    receive.pattern = random_pattern();
    const int expected = model_.post(receive.number, receive.pattern);
    REQUIRE(number_of(matcher_.post(receive)) == expected);
    REQUIRE(receive.waiting() == (expected == kNobody));
  }

  void arrive() {
    const Envelope envelope = random_envelope();
    const int expected = model_.arrived(envelope);
    REQUIRE(number_of(matcher_.arrived(envelope)) == expected);
    if (expected != kNobody) return;
    auto& message = *messages_.emplace_back(std::make_unique<NumberedMessage>());
    message.number = static_cast<int>(messages_.size()) - 1;
    message.envelope = envelope;
    message.kept = random_.below(2) * envelope.length;
    matcher_.keep(message);
    model_.keep(message.number, envelope, message.kept);
  }

  // Cancels a receive that waits, or sometimes one that may not wait any more.
  void cancel() {
    if (receives_.empty()) return;
    const bool waits = !model_.receives.empty() && random_.chance(3, 4);
    const int number = waits ? model_.receives[random_.below(model_.receives.size())].number
                             : static_cast<int>(random_.below(receives_.size()));
    REQUIRE(matcher_.cancel(*receives_[static_cast<std::size_t>(number)]) == model_.cancel(number));
  }
  void drop() {
    if (model_.messages.empty()) return;
    const int number = model_.messages[random_.below(model_.messages.size())].number;
    REQUIRE(matcher_.drop(*messages_[static_cast<std::size_t>(number)]) == model_.drop(number));
  }

  void die() {
    const auto source = static_cast<std::int32_t>(random_.below(mix_.sources + 1)) - 1;  // or any
    const std::vector<int> expected = model_.take_of(source);
    std::vector<int> taken;
    for (Posted* posted = matcher_.take_receives_of(source); posted != nullptr;
         posted = Matcher::following(*posted))
      taken.push_back(number_of(posted));
    REQUIRE(taken == expected);
  }

  void compare_counts() const {
    REQUIRE(matcher_.counts().posted == model_.receives.size());
    REQUIRE(matcher_.counts().unexpected == model_.messages.size());
  }

  Random random_;
  Mix mix_;
  Matcher matcher_;
  Model model_;
  std::vector<std::unique_ptr<NumberedReceive>> receives_;
  std::vector<std::unique_ptr<NumberedMessage>> messages_;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST_CASE("matching model: random operations match what two plain lists match") {
  const Mix mixes[] = {
      {2, 3, 3, 10, 50},    // few keys: long lists with one key
      {3, 5, 8, 30, 50},    // everything, often with wildcards
      {1, 40, 200, 5, 50},  // many keys: the tables grow
      {2, 4, 4, 20, 65},    // receives wait
      {2, 4, 4, 20, 35},    // messages wait
      {1, 2, 1, 0, 50},     // no wildcard at all
  };
  const std::uint64_t only = from_environment("SCELA_MATCHING_SEED", 0);
  const std::uint64_t operations = from_environment("SCELA_MATCHING_OPERATIONS", 17'000);
  std::uint64_t seed = 0;
  for (const Mix& mix : mixes) {
    if (++seed != only && only != 0) continue;
    CAPTURE(seed);
    Both both(seed, mix);
    for (std::uint64_t i = 0; i < operations; ++i) {
      CAPTURE(i);
      both.step();
      if (i % 1000 == 0) both.compare_all();
    }
    both.compare_all();
  }
}

}  // namespace
}  // namespace scela::channel::matching_model_test
