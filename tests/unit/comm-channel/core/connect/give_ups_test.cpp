#include "comm-channel/core/connect/give_ups.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace give_ups_test {

using namespace scela::channel::connect;
using namespace std::chrono_literals;

namespace {

PeerAddress card_of(std::uint32_t rank, std::uint64_t life = 1) {
  PeerAddress card;
  card.name = {7, rank};
  card.life = life;
  card.node = rank;
  card.address.qpn = rank + 1;
  return card;
}

GiveUps::Rules rules(std::uint64_t secret = 5) {
  GiveUps::Rules rules;
  rules.secret = secret;
  return rules;
}

struct Process {
  explicit Process(std::uint32_t rank, std::uint64_t secret = 5, std::uint64_t life = 1)
      : card(card_of(rank, life)), ends(card, rules(secret)) {}

  // Returns what this process has to say, all of which must be for process `to`.
  std::vector<std::string> said(std::uint32_t to) {
    std::vector<std::string> bytes;
    for (GiveUps::OutgoingDatagram& one : std::exchange(ends.sayings(), {})) {
      CHECK(one.to.name.rank == to);
      bytes.push_back(std::move(one.bytes));
    }
    return bytes;
  }
  void hear(const std::vector<std::string>& all, Time now) {
    for (const std::string& bytes : all)
      CHECK(ends.take(bytes, now));
  }

  PeerAddress card;
  GiveUps ends;
};

std::string request(const PeerAddress& from, const PeerAddress& to,
                    HandshakeKind said = HandshakeKind::connect) {
  Handshake shake;
  shake.secret = 5;
  shake.said = said;
  shake.own = true;
  shake.from = from;
  shake.to = to.name;
  shake.number = 9;
  return encode(shake);
}

}  // namespace

TEST_CASE("give-ups: a process that is given up is told until it confirms, and then no more") {
  Process one(0), other(1);
  one.ends.give_up(other.card, 0ms);
  CHECK_FALSE(one.ends.settled());
  CHECK(one.ends.next_wake() == Time(10ms));
  other.hear(one.said(1), 1ms);
  const std::vector<PeerAddress> told = other.ends.take_those_that_did();
  REQUIRE(told.size() == 1);
  CHECK(told.front() == one.card);
  one.hear(other.said(0), 2ms);
  CHECK(one.ends.settled());
  CHECK_FALSE(one.ends.next_wake());
  one.ends.give_up(other.card, 3ms);  // the other process knows that already
  one.ends.wake(1h);
  CHECK(one.said(1).empty());
}

TEST_CASE("give-ups: lost notices are repeated, and doubled notices are reported once") {
  Process one(0), other(1);
  one.ends.give_up(other.card, 0ms);
  static_cast<void>(one.said(1));
  one.ends.wake(9ms);
  CHECK(one.said(1).empty());
  one.ends.wake(10ms);
  const auto again = one.said(1);
  REQUIRE(again.size() == 1);
  other.hear(again, 11ms);
  other.hear(again, 12ms);
  CHECK(other.said(0).size() == 2);  // the first answer may be lost
  CHECK(other.ends.take_those_that_did().size() == 1);
  CHECK(other.ends.take_those_that_did().empty());
}

TEST_CASE("give-ups: an unanswered notice is repeated a few times, and delays leaving less") {
  Process one(0);
  one.ends.give_up(card_of(1), 0ms);
  int said = 1, before_leaving = 0;
  while (const auto due = one.ends.next_wake()) {
    before_leaving += one.ends.settled() ? 0 : 1;
    one.ends.wake(*due);
    ++said;
  }
  CHECK(said == rules().tries);
  CHECK(before_leaving == rules().tries_of_leaving - 1);
  CHECK(one.ends.settled());
}

TEST_CASE("give-ups: a given-up process that asks to connect is told again, not served") {
  Process one(0), other(1);
  one.ends.give_up(other.card, 0ms);
  other.hear(one.said(1), 1ms);
  one.hear(other.said(0), 2ms);
  for (const HandshakeKind said : {HandshakeKind::connect, HandshakeKind::join}) {
    CHECK(one.ends.take(request(other.card, one.card, said), 3ms));
    CHECK(one.said(1).size() == 1);
  }
  // Requests of another process are for the machine. So are those of a process that has the rank
  // since.
  CHECK_FALSE(one.ends.take(request(card_of(2), one.card), 4ms));
  CHECK_FALSE(one.ends.take(request(card_of(1, 2), one.card), 4ms));
  CHECK(one.said(1).empty());
}

TEST_CASE("give-ups: notices without the job's secret, or to another process, are ignored") {
  Process one(0), stranger(1, 6), other(1), later(0, 5, 2);
  stranger.ends.give_up(one.card, 0ms);
  CHECK_FALSE(one.ends.take(stranger.said(0).front(), 1ms));
  other.ends.give_up(one.card, 0ms);
  const std::string bytes = other.said(0).front();
  CHECK(later.ends.take(bytes, 1ms));  // meant for an earlier life: no effect
  CHECK(later.ends.take_those_that_did().empty());
  CHECK(later.said(1).empty());
  CHECK_FALSE(one.ends.take("noise", 1ms));
  CHECK(one.ends.take_those_that_did().empty());
}

}  // namespace give_ups_test
