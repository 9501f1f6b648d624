// Runs one transfer between two sides through every order in which messages come, operations end,
// and one side dies. Each step is checked: it must not touch a buffer that the program owns by
// then.
#include "comm-channel/core/protocol/rendezvous.h"

#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm-channel/core/protocol/request_table.h"

namespace scela::channel::rendezvous_test {
namespace {

struct Case {
  std::uint64_t length;
  std::uint64_t room;
  std::uint32_t sender_ways;
  std::uint32_t receiver_ways;
  bool copies_refused = false;
  bool operations_fail = false;
  bool refused = false;  // the receiver cannot register its memory
  // 1: the sender may die at any moment; 2: the receiver may.
  int dies = 0;
  // 1: the sender's buffer is freed when `freed_at` bytes went in pieces; 2: the receiver's buffer
  // is.
  int freed = 0;
  std::uint64_t freed_at = 0;
};

struct HandshakeKind {
  Act act;
  Rts offer;
  Cts ready;
  Fin done;
  std::uint64_t offset = 0, bytes = 0;  // used by a piece
};

struct End {
  Outcome outcome;
  std::uint64_t bytes;
  bool truncated;
};

constexpr std::uint64_t kPiece = 3;

// The whole state, by value: each choice is tried on a copy.
struct World {
  Case given;
  SendTransfer sender{0, 0};
  std::optional<ReceiveTransfer> receiver;
  std::deque<HandshakeKind> to_receiver, to_sender;
  std::vector<Step> sender_works, receiver_works;  // operations that are under way
  std::uint64_t landing = 0;                       // bytes that were written and are not there yet
  std::uint64_t there = 0;                         // bytes in the receiver's buffer
  bool revoked = false;
  std::optional<End> sent, received;
  bool sender_lives = true, receiver_lives = true;
  bool sender_knows = false, receiver_knows = false;  // it knows that the other has died
  std::string wrong;

  explicit World(const Case& c) : given(c), sender(c.length, c.sender_ways) {
    by_sender(sender.start());
  }

  void by_sender(const Steps& steps) {
    for (const Step& step : steps) {
      switch (step.act) {
        case Act::say_offer:
          say(to_receiver, {step.act, {given.length, 1000, 1, given.sender_ways}, {}, {}});
          break;
        case Act::say_done:
          say(to_receiver, {step.act, {}, {}, {step.bytes, step.outcome, 0}});
          break;
        case Act::write:
        case Act::pieces:
          if (sent) wrong = "the sender's buffer is used when it is the program's";
          sender_works.push_back(step);
          break;
        case Act::complete:
          if (sent) wrong = "the sender completes twice";
          if (!sender_works.empty() && step.outcome != Outcome::none) {
            // The rest of the pieces is not sent.
            if (sender_works.front().act == Act::write) wrong = "completed while it is written";
            sender_works.clear();
          }
          sent = End{step.outcome, step.bytes, false};
          break;
        default:
          wrong = "not a sender's step";
      }
    }
  }

  void by_receiver(const Steps& steps) {
    for (const Step& step : steps) {
      switch (step.act) {
        case Act::say_ready:
          say(to_sender, {step.act, {}, {step.bytes, 2000, 2, step.way, 5, 0}, {}});
          break;
        case Act::say_done:
          say(to_sender, {step.act, {}, {}, {step.bytes, step.outcome, 0}});
          break;
        case Act::read:
        case Act::copy:
        case Act::revoke:
          receiver_works.push_back(step);
          break;
        case Act::complete:
          if (received) wrong = "the receiver completes twice";
          if (!receiver_works.empty()) wrong = "completed while something is under way";
          if (step.outcome == Outcome::none && there != step.bytes) wrong = "bytes are missing";
          received = End{step.outcome, step.bytes, step.truncated};
          break;
        default:
          wrong = "not a receiver's step";
      }
    }
  }

  // A message to a side that has died is lost.
  void say(std::deque<HandshakeKind>& to, const HandshakeKind& said) {
    const bool lives = &to == &to_receiver ? receiver_lives : sender_lives;
    if (lives) to.push_back(said);
  }

  void hear(const HandshakeKind& said, bool at_receiver) {
    if (at_receiver) {
      if (said.act == Act::say_offer) {
        receiver.emplace(said.offer, given.room, given.receiver_ways, 0);
        by_receiver(given.refused ? receiver->refuse(Outcome::resources) : receiver->start());
      } else if (said.act == Act::pieces) {
        if (received) {
          // A piece that was on its way does not find the transfer any more.
          if (given.freed != 2) wrong = "a piece comes into the program's buffer";
          return;
        }
        if (given.freed == 2 && there >= given.freed_at) return by_receiver(receiver->piece_lost());
        there += said.bytes;
        by_receiver(receiver->piece(said.offset, said.bytes));
      } else {
        by_receiver(receiver->fin(said.done));
      }
    } else if (said.act == Act::say_ready) {
      by_sender(sender.cts(said.ready));
    } else {
      by_sender(sender.fin(said.done));
    }
  }

  void work_of_sender() {
    const Step step = sender_works.front();
    if (step.act == Act::pieces) {
      if (given.freed == 1 && sender.offset() >= given.freed_at)
        return by_sender(sender.piece_lost());
      const std::uint64_t bytes = std::min(kPiece, sender.left());
      HandshakeKind said{Act::pieces, {}, {}, {}, sender.offset(), bytes};
      say(to_receiver, said);
      if (sender.left() == bytes) sender_works.clear();
      by_sender(sender.piece_sent(bytes));
      return;
    }
    sender_works.clear();
    if (given.operations_fail || !receiver_lives) {
      by_sender(sender.written(Outcome::device));
      return;
    }
    landing = 0;
    land(step.bytes);
    by_sender(sender.written(Outcome::none));
  }

  void land(std::uint64_t bytes) {
    if (revoked || !receiver_lives) return;
    if (received) wrong = "written into the program's buffer";
    there = bytes;
  }

  void work_of_receiver() {
    const Step step = receiver_works.front();
    receiver_works.clear();
    if (step.act == Act::revoke) {
      revoked = true;
      by_receiver(receiver->revoked());
      return;
    }
    if (step.act == Act::copy && given.copies_refused) {
      by_receiver(receiver->copy_refused());
      return;
    }
    const bool possible = !given.operations_fail && sender_lives;
    if (possible && sent) wrong = "read from the program's buffer";
    if (possible) there = step.bytes;
    by_receiver(receiver->fetched(possible ? Outcome::none : Outcome::device));
  }

  void kill(int who) {
    if (who == 1) {
      sender_lives = false;
      // A write of the dead sender may be under way still, and arrive at any later moment.
      for (const Step& step : sender_works)
        if (step.act == Act::write && !given.operations_fail) landing = step.bytes;
      sender_works.clear();
      to_sender.clear();
    } else {
      receiver_lives = false;
      receiver_works.clear();
      to_receiver.clear();
    }
  }

  // Returns every event that can happen next.
  std::vector<std::function<void(World&)>> choices() const {
    std::vector<std::function<void(World&)>> all;
    if (!to_receiver.empty() && receiver_lives)
      all.push_back([](World& w) {
        const HandshakeKind said = w.to_receiver.front();
        w.to_receiver.pop_front();
        w.hear(said, true);
      });
    if (!to_sender.empty() && sender_lives)
      all.push_back([](World& w) {
        const HandshakeKind said = w.to_sender.front();
        w.to_sender.pop_front();
        w.hear(said, false);
      });
    if (!sender_works.empty()) all.push_back([](World& w) { w.work_of_sender(); });
    if (!receiver_works.empty()) all.push_back([](World& w) { w.work_of_receiver(); });
    if (landing > 0)
      all.push_back([](World& w) {
        w.land(w.landing);
        w.landing = 0;
      });
    if (given.dies != 0 && sender_lives && receiver_lives)
      all.push_back([](World& w) { w.kill(w.given.dies); });
    // The side that is left learns of the death after it has heard all messages of the dead side.
    if (!sender_lives && !receiver_knows && to_receiver.empty() && receiver)
      all.push_back([](World& w) {
        w.receiver_knows = true;
        w.by_receiver(w.receiver->peer_ended());
      });
    if (!receiver_lives && !sender_knows && to_sender.empty())
      all.push_back([](World& w) {
        w.sender_knows = true;
        w.by_sender(w.sender.peer_ended());
      });
    return all;
  }

  void check_end() {
    const std::uint64_t take = std::min(given.length, given.room);
    if (sender_lives && !sent) wrong = "the sender waits for ever";
    if (receiver_lives && sender_lives && !received) wrong = "the receiver waits for ever";
    if (receiver_lives && receiver && !received) wrong = "the receiver waits for ever";
    const bool nobody_died = sender_lives && receiver_lives;
    for (const auto& end : {sent, received}) {
      if (!end) continue;
      if (end->outcome == Outcome::none && end->bytes != take)
        wrong = "other bytes than were to be";
      if (end->outcome == Outcome::peer_ended && nobody_died) wrong = "nobody has died";
    }
    if (received && received->outcome == Outcome::none &&
        received->truncated != (given.length > given.room))
      wrong = "truncation is not told, or told without reason";
    if (!nobody_died) return;
    const bool fails = take > 0 && given.operations_fail &&
                       ((given.sender_ways & given.receiver_ways) != way::kPieces);
    const Outcome expected = given.refused ? Outcome::resources
                             : fails       ? Outcome::device
                                           : Outcome::none;
    if (given.freed != 0) {
      // A sender that has sent all its pieces does not hear of it.
      const bool done = given.freed == 2 && sent && sent->outcome == Outcome::none;
      if (received->outcome != Outcome::device || (!done && sent->outcome != Outcome::device))
        wrong = "a buffer that is gone ends in another way";
      return;
    }
    if (sent && sent->outcome != expected) wrong = "the sender ends in another way";
    if (received && received->outcome != expected) wrong = "the receiver ends in another way";
  }
};

// Tries every order, and returns the number of ends.
int explore(const World& world) {
  const auto choices = world.choices();
  if (choices.empty()) {
    World end = world;
    end.check_end();
    INFO(end.wrong);
    REQUIRE(end.wrong.empty());
    return 1;
  }
  int ends = 0;
  for (const auto& choice : choices) {
    World next = world;
    choice(next);
    INFO(next.wrong);
    REQUIRE(next.wrong.empty());
    ends += explore(next);
  }
  return ends;
}

int explore_all(std::uint32_t sender_ways, std::uint32_t receiver_ways,
                bool refuse_copies = false) {
  int ends = 0;
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{10}})
    for (const std::uint64_t room :
         {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{10}, std::uint64_t{1'000'000}})
      for (const bool fail : {false, true})
        for (const bool refuse : {false, true})
          for (const int dies : {0, 1, 2}) {
            CAPTURE(length, room, fail, refuse, dies);
            ends += explore(World(
                {length, room, sender_ways, receiver_ways, refuse_copies, fail, refuse, dies}));
          }
  return ends;
}

TEST_CASE("rendezvous: by write, in every order of events, deaths and failures") {
  CHECK(explore_all(way::kWrite, way::kAll) > 100);
}

TEST_CASE("rendezvous: by read, in every order of events, deaths and failures") {
  CHECK(explore_all(way::kRead, way::kAll) > 100);
}

TEST_CASE("rendezvous: by a copy on the node, in every order of events, deaths and failures") {
  CHECK(explore_all(way::kCopy | way::kPieces, way::kCopy) > 100);
}

TEST_CASE("rendezvous: in pieces, in every order of events, deaths and failures") {
  CHECK(explore_all(way::kAll, way::kPieces) > 100);
}

TEST_CASE("rendezvous: in pieces, when one meets a buffer that has gone") {
  for (const int freed : {1, 2})
    for (const int dies : {0, 1, 2})
      for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{9}}) {
        CAPTURE(freed, dies, at);
        CHECK(explore(World(
                  {10, 10, way::kPieces, way::kPieces, false, false, false, dies, freed, at})) > 0);
      }
}

TEST_CASE("rendezvous: where the kernel refuses the copy, in pieces") {
  const std::uint32_t ways = way::kCopy | way::kPieces;
  for (const int dies : {0, 1, 2})
    for (const std::uint64_t room : {std::uint64_t{4}, std::uint64_t{10}})
      CHECK(explore(World({10, room, ways, ways, true, false, false, dies})) > 0);
  // Neither way is possible: both sides end with an error.
  World world({10, 10, way::kCopy, way::kCopy, true, true, false, 0});
  CHECK(explore(world) > 0);
}

TEST_CASE("rendezvous: sides without a common protocol both fail") {
  CHECK(explore(World({10, 10, way::kCopy, way::kWrite, false, true, false, 0})) == 1);
}

std::vector<Act> acts_of(const Steps& steps) {
  std::vector<Act> acts;
  for (const Step& step : steps)
    acts.push_back(step.act);
  return acts;
}

TEST_CASE("rendezvous: the preferred protocol is taken if both can, else the cheapest") {
  const Rts offer{100, 1000, 7, way::kWrite | way::kRead};
  ReceiveTransfer by_read(offer, 100, way::kAll, 0);
  CHECK(acts_of(by_read.start()) == std::vector{Act::read});
  ReceiveTransfer by_write(offer, 100, way::kAll, way::kWrite);
  const Steps ready = by_write.start();
  CHECK(acts_of(ready) == std::vector{Act::say_ready});
  CHECK(ready.begin()->way == way::kWrite);
  ReceiveTransfer not_possible(offer, 100, way::kAll, way::kCopy);
  CHECK(acts_of(not_possible.start()) == std::vector{Act::read});
}

TEST_CASE("rendezvous: an unexpected message fails both sides or is passed over") {
  SendTransfer sender(100, way::kWrite);
  sender.start();
  // The sender refuses a way that was not offered, then more bytes than there are.
  const Steps refused = sender.cts({10, 0, 0, way::kPieces, 1, 0});
  CHECK(acts_of(refused) == std::vector{Act::say_done, Act::complete});
  CHECK(refused.begin()->outcome == Outcome::device);
  CHECK(sender.cts({10, 0, 0, way::kWrite, 1, 0}).empty());
  CHECK(sender.fin({}).empty());
  CHECK(sender.peer_ended().empty());
  SendTransfer longer(100, way::kWrite);
  longer.start();
  CHECK(acts_of(longer.cts({101, 0, 0, way::kWrite, 1, 0})) ==
        std::vector{Act::say_done, Act::complete});

  // The receiver refuses a piece that is not the next one, is longer than the rest, or is empty.
  for (const auto& [offset, bytes] :
       {std::pair<std::uint64_t, std::uint64_t>{1, 5}, {0, 11}, {0, 0}}) {
    ReceiveTransfer receiver({10, 0, 0, way::kPieces}, 10, way::kPieces, 0);
    receiver.start();
    CHECK(acts_of(receiver.piece(offset, bytes)) == std::vector{Act::say_done, Act::complete});
    CHECK(receiver.piece(0, 1).empty());
  }
  ReceiveTransfer receiver({10, 0, 0, way::kRead}, 10, way::kRead, 0);
  receiver.start();
  CHECK(receiver.piece(0, 1).empty());
  CHECK(receiver.fin({}).empty());
  CHECK(receiver.revoked().empty());
}

TEST_CASE("rendezvous: a number that is old, or was never given, finds nothing") {
  RequestTable<int> numbers;
  int a = 1, b = 2;
  const std::uint32_t first = numbers.add(a);
  const std::uint32_t second = numbers.add(b);
  CHECK(first != 0);
  CHECK(numbers.find(first) == &a);
  CHECK(numbers.find(second) == &b);
  CHECK(numbers.remove(first) == &a);
  CHECK(numbers.find(first) == nullptr);
  CHECK(numbers.remove(first) == nullptr);
  // The table uses the place again, with another number.
  const std::uint32_t third = numbers.add(b);
  CHECK(third != first);
  CHECK(numbers.find(first) == nullptr);
  CHECK(numbers.find(third) == &b);
  CHECK(numbers.find(0) == nullptr);
  CHECK(numbers.find(0xffff'ffffu) == nullptr);
  std::uint32_t number = third;
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(numbers.remove(number) != nullptr);
    const std::uint32_t next = numbers.add(a);
    REQUIRE(next != number);
    REQUIRE(next != 0);
    number = next;
  }
  CHECK(numbers.all() == std::vector<int*>{&a, &b});
  CHECK(numbers.remove(number) == &a);
  CHECK(numbers.remove(second) == &b);
  CHECK(numbers.empty());
  CHECK(numbers.all().empty());
}

}  // namespace
}  // namespace scela::channel::rendezvous_test
