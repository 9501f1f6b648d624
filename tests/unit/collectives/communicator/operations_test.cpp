// Tests the results of a communicator's operations, in all their forms.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>

#include "common/core/text.h"
#include "tests/support/temporary_home.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::operations_test {
namespace {

using Numbers = std::vector<std::int64_t>;
constexpr int kRanks[] = {1, 2, 3, 5};

std::int64_t value(int rank, std::size_t i) {
  return rank * 1000 + static_cast<std::int64_t>(i);
}
Numbers values(int rank, std::size_t count) {
  Numbers all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = value(rank, i);
  return all;
}
// Returns the sums over ranks 0 ... last - 1.
Numbers sums(int last, std::size_t first, std::size_t count) {
  Numbers all(count);
  for (std::size_t i = 0; i < count; ++i)
    for (int rank = 0; rank < last; ++rank)
      all[i] += value(rank, first + i);
  return all;
}
std::string text(const Numbers& numbers) {
  std::string out;
  for (const std::int64_t number : numbers)
    out += cat(" ", number);
  return out;
}

// Runs the operation in all three forms, twice if it was prepared, and each time from `given`.
std::string in_all_forms(Communicator& world, const Collective& collective, Numbers& output,
                         const Numbers& given, const Numbers& expected) {
  const auto check = [&](const Status& status, const char* form) -> std::string {
    if (!status.ok()) return cat(form, ": ", status.message());
    std::string wrong;
    if (output != expected)
      wrong = cat(form, ": has", text(output), ", should have", text(expected));
    output = given;
    return wrong;
  };
  output = given;
  std::string wrong;
  for (const char* const form : {"run", "run again", "run as before"}) {
    wrong = check(world.run(collective), form);
    if (!wrong.empty()) return wrong;
  }
  Request started = world.start(collective);
  wrong = check(started.wait(), "start");
  if (!wrong.empty()) return wrong;
  Request prepared = world.prepare(collective);
  for (int time = 0; time < 2; ++time) {
    if (const Status status = prepared.start(); !status.ok()) return status.message();
    wrong = check(prepared.wait(), "prepare");
    if (!wrong.empty()) return wrong;
  }
  return {};
}

void each(const Body& body) {
  for (const ProgressMode by : kAllProgressModes)
    for (const int ranks : kRanks) {
      INFO("ranks " << ranks << ", run by " << static_cast<int>(by));
      CHECK(everyone({.ranks = ranks, .progress = by}, body) == "");
    }
}

TEST_CASE("communicator: a barrier in all forms") {
  each([](Communicator& world) {
    Numbers none;
    return in_all_forms(world, Collective::barrier(), none, {}, {});
  });
}

TEST_CASE("communicator: a broadcast gives all ranks the root's message, for every root") {
  each([](Communicator& world) -> std::string {
    for (int root = 0; root < world.size(); ++root) {
      const Numbers given = world.rank() == root ? values(root, 100) : Numbers(100);
      Numbers message = given;
      std::string wrong =
          in_all_forms(world, Collective::bcast(message, root), message, given, values(root, 100));
      if (!wrong.empty()) return wrong;
    }
    return {};
  });
}

TEST_CASE("communicator: reductions give what they are, in place too") {
  each([](Communicator& world) -> std::string {
    constexpr std::size_t kCount = 60;
    const int ranks = world.size();
    const int rank = world.rank();
    const auto blocks = static_cast<std::size_t>(ranks);
    const Numbers own = values(rank, kCount);
    const Numbers empty(kCount);
    Numbers out(kCount);
    const ReduceOp sum = ReduceOp::sum;
    const int root = ranks - 1;
    std::string wrong;
    const auto say = [&](const char* which, const Collective& collective, const Numbers& given,
                         const Numbers& expected) {
      if (wrong.empty()) {
        out = given;
        const std::string said = in_all_forms(world, collective, out, given, expected);
        if (!said.empty()) wrong = cat(which, " ", said);
      }
    };
    say("reduce", Collective::reduce(own, out, sum, root), empty,
        rank == root ? sums(ranks, 0, kCount) : empty);
    say("allreduce", Collective::allreduce(own, out, sum), empty, sums(ranks, 0, kCount));
    say("allreduce in place", Collective::allreduce(kInPlace, out, sum), own,
        sums(ranks, 0, kCount));
    say("scan", Collective::scan(own, out, sum), empty, sums(rank + 1, 0, kCount));
    say("scan in place", Collective::scan(kInPlace, out, sum), own, sums(rank + 1, 0, kCount));
    say("exscan", Collective::exscan(own, out, sum), empty, sums(rank, 0, kCount));
    // Only the root can say that the reduction is in place.
    if (rank == root)
      say("reduce in place", Collective::reduce(kInPlace, out, sum, root), own,
          sums(ranks, 0, kCount));
    else
      say("reduce in place", Collective::reduce(own, {}, sum, root), empty, empty);
    const Numbers much = values(rank, blocks * kCount);
    say("reduce_scatter_block", Collective::reduce_scatter_block(much, out, sum), empty,
        sums(ranks, static_cast<std::size_t>(rank) * kCount, kCount));
    return wrong;
  });
}

TEST_CASE("communicator: operations that move blocks move them, in place too") {
  each([](Communicator& world) -> std::string {
    constexpr std::size_t kCount = 7;
    const auto blocks = static_cast<std::size_t>(world.size());
    const int rank = world.rank();
    const auto place = static_cast<std::size_t>(rank);
    const int root = world.size() / 2;
    const Numbers own = values(rank, kCount);
    Numbers all;
    Numbers across(blocks * kCount);
    for (int other = 0; other < world.size(); ++other) {
      const Numbers theirs = values(other, kCount);
      all.insert(all.end(), theirs.begin(), theirs.end());
      for (std::size_t i = 0; i < kCount; ++i)
        across[static_cast<std::size_t>(other) * kCount + i] = value(other, place * kCount + i);
    }
    const Numbers much = values(rank, blocks * kCount);
    const Numbers empty(blocks * kCount);
    Numbers standing = empty;
    std::ranges::copy(own, standing.begin() + static_cast<std::ptrdiff_t>(place * kCount));
    Numbers out(blocks * kCount);
    std::string wrong;
    const auto say = [&](const char* which, const Collective& collective, const Numbers& given,
                         const Numbers& expected) {
      if (wrong.empty()) {
        const std::string said = in_all_forms(world, collective, out, given, expected);
        if (!said.empty()) wrong = cat(which, " ", said);
      }
    };
    if (rank == root) {
      say("gather", Collective::gather(own, out, root), empty, all);
      say("gather in place", Collective::gather(kInPlace, out, root), standing, all);
    } else {
      say("gather", Collective::gather(own, {}, root), empty, empty);
      say("gather in place", Collective::gather(own, {}, root), empty, empty);
    }
    say("allgather", Collective::allgather(own, out), empty, all);
    say("allgather in place", Collective::allgather(kInPlace, out), standing, all);
    say("alltoall", Collective::alltoall(much, out), empty, across);
    say("alltoall in place", Collective::alltoall(kInPlace, out), much, across);
    out.resize(kCount);
    const Numbers part(kCount);
    Numbers scattered(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      scattered[i] = value(root, place * kCount + i);
    say("scatter", Collective::scatter(rank == root ? ConstBuffer(much) : ConstBuffer(), out, root),
        part, scattered);
    if (rank == root)
      say("scatter in place", Collective::scatter(much, {}, root), part, part);
    else
      say("scatter in place", Collective::scatter({}, out, root), part, scattered);
    return wrong;
  });
}

// Rank r has r + 1 elements in these parts. The parts are in reverse order of ranks, with gaps.
std::vector<Part> turned_parts(int ranks) {
  std::vector<Part> parts(static_cast<std::size_t>(ranks));
  std::size_t offset = 1;
  for (std::size_t i = parts.size(); i-- > 0;) {
    parts[i] = {i + 1, offset};
    offset += i + 3;
  }
  return parts;
}

TEST_CASE("communicator: the v forms move blocks of unequal sizes from and to any places") {
  each([](Communicator& world) -> std::string {
    const int ranks = world.size();
    const int rank = world.rank();
    const auto place = static_cast<std::size_t>(rank);
    const int root = 0;
    const std::vector<Part> parts = turned_parts(ranks);
    const std::size_t room = 3 * parts.size() * parts.size() + 10;
    const Numbers own = values(rank, place + 1);
    const Numbers much = values(rank, room);
    const Numbers empty(room);
    Numbers all(room);
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (std::size_t j = 0; j < parts[i].count; ++j)
        all[parts[i].offset + j] = value(static_cast<int>(i), j);
    Numbers out(room);
    std::string wrong;
    const auto say = [&](const char* which, const Collective& collective, const Numbers& given,
                         const Numbers& expected) {
      if (wrong.empty()) {
        out.resize(given.size());
        const std::string said = in_all_forms(world, collective, out, given, expected);
        if (!said.empty()) wrong = cat(which, " ", said);
      }
    };
    say("allgatherv", Collective::allgatherv(own, out, parts), empty, all);
    say("gatherv",
        rank == root ? Collective::gatherv(own, out, parts, root)
                     : Collective::gatherv(own, {}, {}, root),
        empty, rank == root ? all : empty);
    // Rank r has s + 1 elements for rank s, and gets r + 1 from each.
    std::vector<Part> gets(parts.size());
    Numbers across(room);
    for (std::size_t i = 0; i < gets.size(); ++i) {
      gets[i] = {place + 1, i * (place + 2)};
      for (std::size_t j = 0; j <= place; ++j)
        across[gets[i].offset + j] = value(static_cast<int>(i), parts[place].offset + j);
    }
    say("alltoallv", Collective::alltoallv(much, parts, out, gets), empty, across);
    Numbers scattered(place + 1);
    for (std::size_t j = 0; j <= place; ++j)
      scattered[j] = value(root, parts[place].offset + j);
    out.resize(place + 1);
    say("scatterv",
        rank == root ? Collective::scatterv(much, parts, out, root)
                     : Collective::scatterv({}, {}, out, root),
        Numbers(place + 1), scattered);
    const std::size_t before = place * (place + 1) / 2;
    const Numbers packed = values(rank, parts.size() * (parts.size() + 1) / 2);
    say("reduce_scatter", Collective::reduce_scatter(packed, out, parts, ReduceOp::sum),
        Numbers(place + 1), sums(ranks, before, place + 1));
    return wrong;
  });
}

// x op y appends the digits of y to those of x, so another order gives another number.
void behind(const std::byte* left, const std::byte* right, std::byte* result,
            std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::memcpy(&a, left + i * sizeof a, sizeof a);
    std::memcpy(&b, right + i * sizeof b, sizeof b);
    for (std::int64_t rest = b; rest > 0; rest /= 10)
      a *= 10;
    a += b;
    std::memcpy(result + i * sizeof a, &a, sizeof a);
  }
}

// The communicator reuses what it knows of a call's form. The bytes, the operation under way and
// its end belong to each call.
TEST_CASE("communicator: blocking calls that are like those before have bytes of their own") {
  for (const ProgressMode by : kAllProgressModes) {
    for (const int ranks : kRanks) {
      const std::string wrong = everyone({ranks, by}, [](Communicator& world) -> std::string {
        Numbers under_way(5);
        std::array<Numbers, 2> outs{Numbers(2), Numbers(2)};
        for (int turn = 0; turn < 8; ++turn) {
          const Numbers own = values(world.rank(), 5);
          Request beside = world.start(Collective::allreduce(own, under_way, ReduceOp::sum));
          Numbers in{world.rank() + turn, turn};
          Numbers& out = outs[static_cast<std::size_t>(turn % 2)];
          out = {-1, -1};
          if (const auto status = world.run(Collective::allreduce(in, out, ReduceOp::maximum));
              !status.ok())
            return status.message();
          if (out != Numbers{world.size() - 1 + turn, turn}) return cat("max:", text(out));
          const int root = turn % world.size();
          Numbers message(3, world.rank() == root ? turn : -1);
          if (const auto status = world.run(Collective::bcast(message, root)); !status.ok())
            return status.message();
          if (message != Numbers(3, turn)) return cat("bcast:", text(message));
          if (const auto status = beside.wait(); !status.ok()) return status.message();
          if (under_way != sums(world.size(), 0, 5)) return cat("beside:", text(under_way));
        }
        world.free();
        return world.run(Collective::barrier()).code() == Code::bad_communicator ? "" : "not freed";
      });
      CHECK(wrong == "");
    }
  }
}

TEST_CASE("communicator: an operation of the program's own keeps its operands in order") {
  each([](Communicator& world) -> std::string {
    const Numbers own(9, world.rank() + 1);
    std::int64_t digits = 0;
    for (int rank = 1; rank <= world.size(); ++rank)
      digits = digits * 10 + rank;
    Numbers out(9);
    return in_all_forms(world, Collective::allreduce(own, out, Reducer::of(behind, false)), out,
                        Numbers(9), Numbers(9, digits));
  });
}

std::string way_of(Communicator& world, const std::string& by = {}) {
  Numbers numbers(1000, 1);
  Numbers out(1000);
  Collective sum = Collective::allreduce(numbers, out, ReduceOp::sum);
  if (!by.empty()) sum.algorithm(by);
  Request request = world.start(sum);
  std::string way = request.describe();
  if (const Status status = request.wait(); !status.ok()) return status.message();
  return out == Numbers(1000, world.size()) ? way : "another sum";
}

TEST_CASE("communicator: call, environment, file and program say which algorithm, in this order") {
  const scela::test::TemporaryHome home;
  const std::string file = home.path("rows");
  std::ofstream(file) << "# of the test\nallreduce ring\n";
  const auto check = [](const World& world, const std::string& by, const std::string& expected) {
    CHECK(everyone(world, [&](Communicator& communicator) -> std::string {
            const std::string way = way_of(communicator, by);
            return way == expected ? "" : way;
          }) == "");
  };
  World world{.ranks = 3};
  check(world, "", "allreduce by recursive-doubling");
  world.table = "allreduce bytes 4K.. rabenseifner";
  check(world, "", "allreduce by rabenseifner");
  world.environment["SCELA_COLL_TABLE"] = file;
  check(world, "", "allreduce by ring");
  world.environment["SCELA_COLL_ALLREDUCE"] = "reduce-bcast segment 1K";
  check(world, "", "allreduce by reduce-bcast");
  check(world, "rabenseifner", "allreduce by rabenseifner");
}

TEST_CASE("communicator: a list is made once for all calls of its shape") {
  CHECK(everyone({.ranks = 3}, [](Communicator& world) -> std::string {
          for (int time = 0; time < 5; ++time)
            way_of(world, "ring");
          const std::size_t made = CommunicatorMaker::templates_made(world);
          return made == 1 ? "" : cat(made, " were made");
        }) == "");
}

// Requirements O26, O27 and P2 (docs/coverage.md).
TEST_CASE("communicator: leaders speak for their nodes, and trees are split, as a row says") {
  for (const int per_node : {1, 2, 3})
    CHECK(
        everyone({.ranks = 7, .per_node = per_node}, [](Communicator& world) -> std::string {
          for (const char* by : {"hierarchical", "reduce-bcast split 1", "reduce-bcast split 2"}) {
            const std::string way = way_of(world, by);
            if (!way.starts_with("allreduce by ")) return way;
          }
          const std::size_t made = CommunicatorMaker::templates_made(world);
          if (made != 3) return cat(made, " were made");
          const Numbers own = values(world.rank(), 5);
          for (const char* by : {"hierarchical radix 3", "hierarchical-ring", "hierarchical-bruck",
                                 "multileader radix 2", "multigroup radix 2"}) {
            Numbers all(35);
            if (const auto status = world.run(Collective::allgather(own, all).algorithm(by));
                !status.ok())
              return status.message();
            for (int rank = 0; rank < world.size(); ++rank)
              if (!std::ranges::equal(values(rank, 5), std::span(all).subspan(
                                                           static_cast<std::size_t>(rank) * 5, 5)))
                return cat(by, ": rank ", rank, "'s numbers");
          }
          return "";
        }) == "");
}

TEST_CASE("communicator: several operations under way do not meet, whatever they are waited for") {
  for (const ProgressMode by : {ProgressMode::polled, ProgressMode::thread})
    CHECK(everyone({.ranks = 4, .progress = by}, [](Communicator& world) -> std::string {
            constexpr std::size_t kAtOnce = 12;
            std::vector<Numbers> messages(kAtOnce);
            std::vector<Request> requests;
            for (std::size_t i = 0; i < kAtOnce; ++i) {
              const int root = static_cast<int>(i) % world.size();
              messages[i] = world.rank() == root ? values(static_cast<int>(i), 50) : Numbers(50);
              requests.push_back(world.start(Collective::bcast(messages[i], root)));
            }
            for (std::size_t left = kAtOnce; left > 0; --left) {
              const std::size_t found = wait_any(requests);
              if (found == requests.size()) return "none was over";
              if (const Status status = requests[found].wait(); !status.ok())
                return status.message();
              if (messages[found] != values(static_cast<int>(found), 50)) return "another message";
            }
            return wait_any(requests) == requests.size() ? "" : "one more was over";
          }) == "");
}

}  // namespace
}  // namespace scela::collectives::test::operations_test
