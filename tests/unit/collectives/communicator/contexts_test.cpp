// Tests which contexts communicators get, and that contexts are reused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "collectives/communicator/contexts.h"
#include "common/core/text.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::contexts_test {
namespace {

constexpr std::chrono::seconds kLimit(20);

using Span = ContextNumbers::Span;

TEST_CASE("communicator contexts: a reused number gets its context with another generation") {
  ContextNumbers numbers(1000, 4, 7);
  CHECK(numbers.id(0) == (ContextId{7} << 32 | 1000));
  CHECK(numbers.id(3) == (ContextId{7} << 32 | 1003));
  CHECK(numbers.id(4) == (ContextId{8} << 32 | 1000));
  CHECK(numbers.is_first(3));
  CHECK_FALSE(numbers.is_first(4));
  CHECK(numbers.life_after() == 7);
  numbers.take(0);
  CHECK(numbers.life_after() == 8);
  numbers.pass(3);
  CHECK(numbers.life_after() == 8);
  numbers.pass(4);
  CHECK(numbers.life_after() == 9);
  CHECK(numbers.next() == 5);
  numbers.pass(2);
  CHECK(numbers.next() == 5);
}

TEST_CASE("communicator contexts: contexts of living communicators are passed over") {
  ContextNumbers numbers(0, 4);
  for (const int number : {0, 1, 3})
    numbers.take(static_cast<ContextNumbers::Number>(number));
  CHECK(numbers.free_from(4) == 6);
  CHECK(numbers.free_from(7) == 10);
  numbers.take(6);
  CHECK(numbers.free_from(7) == std::nullopt);
  numbers.give_back(1);
  CHECK(numbers.free_from(7) == 9);
  CHECK(numbers.free_from(9) == 9);
}

// Contexts that may have messages for a communicator that this rank does not know of yet are not
// among them.
TEST_CASE("communicator contexts: an unused span reaches from one living context to the next") {
  ContextNumbers numbers(100, 10);
  for (ContextNumbers::Number number = 0; number < 5; ++number)
    numbers.take(number);
  numbers.give_back(2);
  CHECK(numbers.unused_around(2) == Span{102, 1});
  numbers.give_back(3);
  CHECK(numbers.unused_around(3) == Span{102, 2});
  numbers.give_back(4);
  CHECK(numbers.unused_around(4) == Span{102, 3});
  numbers.give_back(0);
  CHECK(numbers.unused_around(0) == Span{100, 1});
  // All contexts have been used once, and this is the second time of context 102.
  numbers.take(12);
  numbers.give_back(1);
  CHECK(numbers.unused_around(1) == Span{100, 2});
  numbers.give_back(12);
  CHECK(numbers.unused_around(12) == Span{100, 10});
}

std::string sum_is_right(Communicator& part) {
  const std::vector<int> own{part.rank() + 1};
  std::vector<int> sum(1);
  Request request = part.start(Collective::allreduce(own, sum, ReduceOp::sum));
  if (const Status status = request.wait(kLimit); !status.ok()) return status.message();
  return sum[0] == part.size() * (part.size() + 1) / 2 ? "" : "another sum";
}

TEST_CASE("communicator contexts: more communicators than contexts, some of which live") {
  for (const ProgressMode by : kAllProgressModes)
    CHECK(everyone({.ranks = 4, .progress = by, .contexts = 5},
                   [](Communicator& world) -> std::string {
                     Communicator kept = world.dup();
                     Communicator self = world.split(world.rank(), 0);
                     if (!kept || !self) return "there is none at the beginning";
                     // Each rank reaches other numbers.
                     for (int i = 0; i < 7 * world.rank(); ++i)
                       if (Communicator one = self.dup(); !one) return one.status().message();
                     for (int round = 0; round < 30; ++round) {
                       Communicator half = world.split(world.rank() % 2, 0);
                       if (!half) return half.status().message();
                       Communicator all = round % 3 == 0 ? world.shrink() : world.dup();
                       if (!all) return cat("round ", round, ": ", all.status().message());
                       for (Communicator* const one : {&half, &all, &kept, &world})
                         if (std::string wrong = sum_is_right(*one); !wrong.empty()) return wrong;
                       if (round % 2 == 0) all.free();
                     }
                     return "";
                   }) == "");
}

TEST_CASE("communicator contexts: where all are used, all ranks are refused alike") {
  CHECK(everyone({.ranks = 3, .contexts = 6}, [](Communicator& world) -> std::string {
          Communicator self = world.split(world.rank(), 0);
          std::vector<Communicator> many;
          // Rank 1 alone takes all contexts, and all ranks need a context that is free on each of
          // them.
          while (world.rank() == 1) {
            many.push_back(self.dup());
            if (many.back()) continue;
            if (many.back().status().code() != Code::resources)
              return many.back().status().message();
            many.pop_back();
            break;
          }
          if (world.rank() == 1 && many.size() != 4) return cat(many.size(), " there are");
          for (const bool shrinks : {false, true}) {
            const Communicator none = shrinks ? world.shrink() : world.dup();
            if (none) return "there is one too many";
            if (none.status().code() != Code::resources) return none.status().message();
          }
          many.clear();
          for (const bool shrinks : {false, true}) {
            Communicator one = shrinks ? world.shrink() : world.dup();
            if (!one) return one.status().message();
            if (std::string wrong = sum_is_right(one); !wrong.empty()) return wrong;
          }
          return sum_is_right(world);
        }) == "");
}

TEST_CASE("communicator contexts: any number of operations may be under way") {
  for (const ProgressMode by : {ProgressMode::polled, ProgressMode::thread})
    CHECK(everyone({.ranks = 3, .progress = by}, [](Communicator& world) -> std::string {
            constexpr int kMany = 3'000;
            std::vector<int> own(kMany), sums(kMany);
            std::vector<int> late{world.rank() == 0 ? 7 : 0};
            // Rank 0 waits for this operation at once, and the others at the end.
            Request old = world.start(Collective::bcast(late, 0));
            if (world.rank() == 0)
              if (const Status status = old.wait(kLimit); !status.ok()) return status.message();
            std::vector<Request> requests;
            for (std::size_t i = 0; i < kMany; ++i) {
              own[i] = static_cast<int>(i);
              requests.push_back(world.start(Collective::allreduce(
                  std::span(own).subspan(i, 1), std::span(sums).subspan(i, 1), ReduceOp::sum)));
            }
            for (std::size_t i = 0; i < kMany; ++i) {
              const std::size_t at = world.rank() == 1 ? kMany - 1 - i : i;
              if (const Status status = requests[at].wait(kLimit); !status.ok())
                return status.message();
              if (sums[at] != 3 * static_cast<int>(at)) return cat("sum ", at, " is ", sums[at]);
            }
            if (world.rank() != 0)
              if (const Status status = old.wait(kLimit); !status.ok()) return status.message();
            return late[0] == 7 ? "" : "another bcast's value";
          }) == "");
}

// The last rank calls a barrier, and the others an allreduce.
std::string call_differently(Communicator& world) {
  const bool differs = world.rank() == world.size() - 1;
  for (int time = 0; time < 3; ++time) {
    std::vector<int> own(100), sum(100);
    Request request = world.start(differs ? Collective::barrier()
                                          : Collective::allreduce(own, sum, ReduceOp::sum));
    const Status status = request.wait(kLimit);
    if (status.code() != Code::mismatch) return cat("it says ", status.message());
    if (status.rank() < 0 || status.rank() >= world.size()) return "it names no rank";
  }
  Communicator rest = world.shrink();
  return rest ? sum_is_right(rest) : rest.status().message();
}

// With 3 ranks, each rank waits for a message that no other rank sends.
TEST_CASE(
    "communicator contexts: after calls of different operations all end, with a rank's name") {
  for (const ProgressMode by : {ProgressMode::polled, ProgressMode::thread})
    for (const int ranks : {2, 3, 5, 8})
      CHECK(everyone({.ranks = ranks, .progress = by}, call_differently) == "");
}

TEST_CASE(
    "communicator contexts: after different calls all end, also with operations run at once") {
  for (const int ranks : {2, 3, 5, 8})
    CHECK(everyone({.ranks = ranks, .progress = ProgressMode::at_once}, call_differently) == "");
}

}  // namespace
}  // namespace scela::collectives::test::contexts_test
