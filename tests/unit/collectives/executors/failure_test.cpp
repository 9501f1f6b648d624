// Tests operations that fail: all ranks learn which rank caused it, and no message is left.
#include <catch2/catch.hpp>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/executors/run_set.h"
#include "tests/unit/collectives/executors/executor_ranks.h"

namespace scela::collectives::test::failure_test {
namespace {

constexpr int kRanks = 7;
constexpr std::uint64_t kNoteSizes[] = {0, 1, 8, 24, 25, 400};

// Returns a case for each algorithm in which each rank waits for all others.
std::vector<Case> where_all_need_all(std::uint64_t bytes) {
  std::vector<Case> out;
  for (const Algorithm& algorithm : algorithms()) {
    Case one;
    one.algorithm = &algorithm;
    one.shape.operation = algorithm.operation;
    one.shape.ranks = kRanks;
    switch (algorithm.operation) {
      case Operation::barrier:
      case Operation::allreduce:
        one.sizes = {bytes / 4 * 4};
        break;
      case Operation::allgather:
        one.sizes.assign(kRanks, bytes);
        break;
      case Operation::alltoall:
        one.sizes.assign(kRanks * kRanks, bytes);
        break;
      default:
        continue;
    }
    out.push_back(one);
  }
  return out;
}

TEST_CASE("executors: a rank that dies fails the operation on all others, with its name") {
  for (const std::uint64_t bytes : kNoteSizes) {
    for (const Case& one : where_all_need_all(bytes)) {
      INFO(text(one));
      Ranks all(kRanks, bytes);
      all.add(one);
      all.kill(2);
      REQUIRE(all.run() == "");
      for (int rank = 0; rank < kRanks; ++rank) {
        if (rank == 2) continue;
        INFO("rank " << rank);
        const RunError* const error = all.run_of(0, rank).error();
        REQUIRE(error != nullptr);
        CHECK(error->fault.rank == 2);
        CHECK(error->fault.code == FaultCode::peer_ended);
        CHECK(error->text().find("rank 2") != std::string::npos);
      }
      CHECK(all.network().under_way() == 0);
    }
  }
}

TEST_CASE(
    "executors: when a rank dies no other waits for ever, and successful ranks have their bytes") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const Case& one : cases(6, seed + 20)) {
      Ranks all(6, seed);
      all.add(one);
      for (std::uint64_t i = 0; i < seed; ++i)
        all.step();
      all.kill(static_cast<int>(seed % 6));
      const std::string stuck = all.run();
      // The barrier's promise covers only the ranks that live.
      if (!stuck.empty() && one.shape.operation != Operation::barrier)
        FAIL(text(one) << ": " << stuck);
      for (int rank = 0; rank < 6; ++rank) {
        if (rank == static_cast<int>(seed % 6) || all.run_of(0, rank).error() != nullptr) continue;
        const std::string wrong = all.member(0, rank).wrong();
        if (!wrong.empty()) FAIL(wrong);
      }
      INFO(text(one));
      CHECK(all.network().under_way() == 0);
    }
  }
}

TEST_CASE(
    "executors: an error of one message fails the ranks that need it, and the operation ends") {
  for (const Case& one : where_all_need_all(100)) {
    INFO(text(one));
    Ranks all(kRanks, 5);
    all.add(one);
    all.network().fail_next(3, FaultCode::resources);
    REQUIRE(all.run() == "");
    REQUIRE(all.run_of(0, 3).error() != nullptr);
    CHECK(all.run_of(0, 3).error()->fault.rank == 3);
    for (int rank = 0; rank < kRanks; ++rank) {
      const RunError* const error = all.run_of(0, rank).error();
      if (error == nullptr)
        CHECK(all.member(0, rank).wrong() == "");
      else
        CHECK(error->fault.code == FaultCode::resources);
    }
    CHECK(all.network().under_way() == 0);
  }
}

TEST_CASE("executors: an operation that fails leaves the others that are under way alone") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Ranks all(kRanks, seed);
    std::vector<Case> every = where_all_need_all(40);
    for (const Case& one : every)
      all.add(one);
    all.network().fail_next(static_cast<int>(seed % kRanks), FaultCode::other);
    REQUIRE(all.run() == "");
    std::size_t failed = 0;
    for (std::size_t i = 0; i < every.size(); ++i) {
      int errors = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        if (all.run_of(i, rank).error() != nullptr)
          ++errors;
        else
          REQUIRE(all.member(i, rank).wrong() == "");
      }
      if (errors != 0) ++failed;
    }
    CHECK(failed == 1);
  }
}

TEST_CASE("executors: nothing is written any more when an operation that failed is over") {
  for (const Case& one : where_all_need_all(200)) {
    Ranks all(kRanks, 11);
    all.add(one);
    all.step();
    all.kill(1);
    std::vector<std::vector<std::byte>> ended(kRanks);
    const auto bytes_of = [&](int rank) {
      const Call call = all.member(0, rank).call({});
      const std::uint64_t bytes = call.layout->of(Space::output).end();
      return std::vector<std::byte>(call.output, call.output + bytes);
    };
    REQUIRE(all.run() == "");
    for (int rank = 0; rank < kRanks; ++rank)
      ended[static_cast<std::size_t>(rank)] = bytes_of(rank);
    CHECK_FALSE(all.network().deliver());
    CHECK(all.network().under_way() == 0);
    for (int rank = 0; rank < kRanks; ++rank)
      CHECK(bytes_of(rank) == ended[static_cast<std::size_t>(rank)]);
  }
}

TEST_CASE("executors: a message of unexpected length names the rank that called otherwise") {
  Case one;
  one.algorithm = find(Operation::bcast, "binomial");
  one.shape.operation = Operation::bcast;
  one.shape.ranks = 2;
  one.sizes = {100};
  Case other = one;
  for (const std::uint64_t bytes : {0u, 24u, 60u, 101u, 5000u}) {
    other.sizes = {bytes};
    const Member root(one, 0, 1);
    const Member leaf(other, 1, 1);
    MemoryNetwork network(2, bytes);
    const auto first = network.transport(0);
    const auto second = network.transport(1);
    Run sends;
    Run receives;
    REQUIRE(sends.bind(root.call({})));
    REQUIRE(receives.bind(leaf.call({})));
    sends.begin(*first);
    receives.begin(*second);
    sends.advance();
    receives.advance();
    network.deliver();
    while (!sends.is_over())
      sends.advance();
    while (!receives.is_over())
      receives.advance();
    CHECK(sends.error() == nullptr);
    REQUIRE(receives.error() != nullptr);
    CHECK(receives.error()->fault.code == FaultCode::mismatch);
    CHECK(receives.error()->fault.rank == 0);
    CHECK(receives.error()->text().find("sent 100 bytes") != std::string::npos);
  }
}

TEST_CASE("executors: a run that is cancelled, or goes, leaves no message behind") {
  for (const bool goes : {false, true}) {
    const std::vector<Case> every = where_all_need_all(300);
    for (const Case& one : every) {
      MemoryNetwork network(kRanks, 2);
      const auto transport = network.transport(0);
      const Member member(one, 0, 1);
      auto run = std::make_unique<Run>();
      REQUIRE(run->bind(member.call({})));
      run->begin(*transport);
      REQUIRE(run->advance());
      if (goes) {
        run.reset();
      } else {
        run->cancel({FaultCode::cancelled, 4, "rank 4 says so"});
        CHECK(run->is_over());
        REQUIRE(run->error() != nullptr);
        CHECK(run->error()->fault.rank == 4);
      }
      // A message that was sent without a request for it may still arrive.
      std::size_t left = network.under_way();
      for (int rank = 1; rank < kRanks; ++rank)
        network.kill(rank);
      CHECK(network.under_way() == 0);
      CHECK(left <= kRanks);
    }
  }
}

TEST_CASE("executors: a rank that only sends hears at once that others have given up") {
  Case one;
  one.algorithm = find(Operation::bcast, "binomial");
  one.shape.operation = Operation::bcast;
  one.shape.ranks = 2;
  one.sizes = {8};
  MemoryNetwork network(2, 1);
  const auto root = network.transport(0);
  const auto other = network.transport(1);
  RunSet runs(*root);
  const Member member(one, 0, 1);
  const int all[] = {0, 1};
  AbortedContext what;
  what.rank = 1;
  what.refusal = Refusal::freed;
  other->give_up(all, what);
  Run run;
  REQUIRE(run.bind(member.call({})));
  runs.add(run, RunSet::Caller::waits);
  CHECK(run.is_over());
  CHECK(run.error() != nullptr);
}

TEST_CASE(
    "executors: a rank that is told of a later refusal before its first operation receives it") {
  Case one;
  one.algorithm = find(Operation::bcast, "binomial");
  one.shape.operation = Operation::bcast;
  one.shape.ranks = 2;
  one.shape.root = 1;
  one.sizes = {8};
  MemoryNetwork network(2, 1);
  const auto late = network.transport(0);
  const auto root = network.transport(1);
  const Member receiver(one, 0, 1), sender(one, 1, 1);
  Run sent, received, refused;
  RunSet senders(*root), receivers(*late);
  REQUIRE(sent.bind(sender.call({})));
  senders.add(sent);
  const int all[] = {0, 1};
  AbortedContext what;
  what.rank = 1;
  what.refusal = Refusal::memory;
  what.begun = 1;
  root->give_up(all, what);
  receivers.advance();
  REQUIRE(receivers.given_up(0) != nullptr);
  REQUIRE(received.bind(receiver.call({})));
  receivers.add(received);
  for (int turns = 0; turns < 100 && !received.is_over(); ++turns) {
    network.deliver();
    receivers.advance();
    senders.advance();
  }
  REQUIRE(received.is_over());
  CHECK(received.error() == nullptr);
  Call next = receiver.call({});
  next.number = 1;
  REQUIRE(refused.bind(next));
  receivers.add(refused);
  CHECK(refused.is_over());
  CHECK(refused.error() != nullptr);
}

// The rank has forgotten the context, or other contexts have displaced it from its memory.
TEST_CASE("executors: a rank drops what comes in a context that it has left") {
  Case one;
  one.algorithm = find(Operation::bcast, "binomial");
  one.shape.operation = Operation::bcast;
  one.shape.ranks = 2;
  one.shape.root = 1;
  one.sizes = {8000};
  const bool forgets = GENERATE(true, false);
  MemoryNetwork network(2, 1);
  const auto left = network.transport(0);
  const auto root = network.transport(1);
  const Member sender(one, 1, 1);
  Run sent;
  RunSet senders(*root), receivers(*left);
  const int all[] = {0, 1};
  receivers.count(0, 0, all, 0);
  if (forgets) receivers.forget(0);
  for (ContextId other = 1; !forgets && other < 100; ++other)
    receivers.count(other, 0, all, 0);
  Call next = sender.call({});
  next.number = 1;
  REQUIRE(sent.bind(next));
  senders.add(sent);
  AbortedContext what;
  what.rank = 1;
  what.refusal = Refusal::freed;
  what.begun = 1;
  root->give_up(all, what);
  for (int turns = 0; turns < 100 && !sent.is_over(); ++turns) {
    receivers.advance();
    network.deliver();
    senders.advance();
  }
  CHECK(sent.is_over());
  CHECK(network.under_way() == 0);
}

TEST_CASE("executors: a call that lacks an argument is refused before anything is begun") {
  Case one;
  one.algorithm = find(Operation::allreduce, "recursive-doubling");
  one.shape.operation = Operation::allreduce;
  one.shape.ranks = 4;
  one.sizes = {16};
  const Member member(one, 1, 1);
  Run run;
  // Number 0 checks the layout in each bind. Number 7 reuses the check of a layout that fitted
  // once.
  const std::uint64_t number = GENERATE(std::uint64_t{0}, std::uint64_t{7});
  const auto refusal = [&](auto change) {
    Call call = member.call({});
    call.layout_number = number;
    change(call);
    const auto bound = run.bind(call);
    CHECK(run.is_over());
    return bound ? std::string() : bound.error().why;
  };
  const Layout none;
  const int few[] = {0, 1};
  CHECK(refusal([](Call&) {}).empty());
  CHECK(refusal([](Call& call) { call.output = nullptr; }) ==
        "the output is null, and should have 16 bytes");
  CHECK(refusal([](Call& call) { call.input = nullptr; }) ==
        "the input is null, and should have 16 bytes");
  CHECK(refusal([](Call& call) { call.reduction = {}; }) ==
        "it reduces, and no reduction was given");
  CHECK(refusal([](Call& call) { call.plan = nullptr; }) == "it has no plan or no layout");
  CHECK(refusal([&](Call& call) {
          call.layout = &none;
          call.layout_number = 0;
        }) == "the input has 0 blocks, and 1 are needed");
  CHECK(refusal([&](Call& call) { call.peers = few; }) ==
        "it speaks with rank 3, and there are 2 ranks");
  run.claim();
  CHECK(run.bind(member.call({})).error().why == "it is under way: wait for it first");
}

}  // namespace
}  // namespace scela::collectives::test::failure_test
