// Tests communicators of some of another communicator's ranks.
#include <catch2/catch.hpp>
#include <chrono>

#include "common/core/text.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::subsets_test {
namespace {

// Checks that `part` has these ranks of the world, in order, and that they reach each other.
// Returns what is wrong; empty if nothing is.
std::string wrong_with(Communicator& world, Communicator& part, const std::vector<int>& ranks) {
  const auto place = std::ranges::find(ranks, world.rank()) - ranks.begin();
  if (place == static_cast<std::ptrdiff_t>(ranks.size())) return part ? "it should be empty" : "";
  if (!part) return part.status().message();
  if (part.size() != static_cast<int>(ranks.size()) || part.rank() != place)
    return cat("rank ", part.rank(), " of ", part.size());
  const std::vector<int> own{world.rank()};
  std::vector<int> all(ranks.size());
  if (const Status status = part.run(Collective::allgather(own, all)); !status.ok())
    return status.message();
  return all == ranks ? "" : "others than named are in it";
}

TEST_CASE("communicator: split makes one of each color, in the order of keys") {
  CHECK(everyone({.ranks = 5}, [](Communicator& world) -> std::string {
          const int rank = world.rank();
          Communicator part =
              world.split(rank == 2 ? Communicator::kUndefinedColor : rank % 2, -rank);
          if (rank == 2) return part ? "it should be empty" : "";
          return wrong_with(world, part,
                            rank % 2 == 0 ? std::vector<int>{4, 0} : std::vector<int>{3, 1});
        }) == "");
}

TEST_CASE("communicator: a subgroup has the ranks that are named, in that order") {
  CHECK(everyone({.ranks = 5}, [](Communicator& world) -> std::string {
          const std::vector<int> ranks{3, 0, 4};
          Communicator part = world.subgroup(ranks);
          std::string wrong = wrong_with(world, part, ranks);
          if (!wrong.empty() || !part) return wrong;
          // `inner` is a subgroup of a subgroup.
          Communicator inner = part.subgroup(std::vector<int>{2, 1});
          return wrong_with(world, inner, {4, 0});
        }) == "");
}

TEST_CASE(
    "communicator: ranks that name different subgroups, or one that cannot be, are all told") {
  CHECK(everyone({.ranks = 4}, [](Communicator& world) -> std::string {
          const bool differs = world.rank() == 3;
          const std::vector<int> right{0, 3}, turned{3, 0}, none{0, 99}, twice{0, 0};
          const auto wrong = [&](const Communicator& part, Code own) -> std::string {
            if (part) return "there is one";
            const Status& status = part.status();
            const bool says = status.code() == (differs ? own : Code::mismatch) &&
                              status.rank() == (differs && own == Code::mismatch ? 0 : 3);
            return says ? "" : cat("it says ", status.message(), " of rank ", status.rank());
          };
          std::string said;
          for (int time = 0; time < 2 && said.empty(); ++time) {
            said = wrong(world.subgroup(differs ? turned : right), Code::mismatch);
            for (const auto* const ranks : {&none, &twice})
              if (said.empty())
                said = wrong(world.subgroup(differs ? *ranks : right), Code::bad_argument);
            if (said.empty()) said = wrong(world.split(differs ? -5 : 0, 0), Code::bad_argument);
            if (said.empty())
              said = wrong(differs ? world.subgroup(right) : world.split(0, 0), Code::mismatch);
            Communicator part = world.subgroup(right);
            if (said.empty()) said = wrong_with(world, part, right);
          }
          return said;
        }) == "");
}

TEST_CASE("communicator: ranks of a node, and each node's first") {
  CHECK(everyone({.ranks = 5, .per_node = 2}, [](Communicator& world) -> std::string {
          if (world.nodes() != 3) return cat(world.nodes(), " nodes");
          Communicator node = world.node();
          const int first = world.rank() / 2 * 2;
          std::string wrong = wrong_with(
              world, node, first == 4 ? std::vector<int>{4} : std::vector<int>{first, first + 1});
          if (!wrong.empty()) return wrong;
          if (node.nodes() != 1) return "a node's is on several";
          Communicator leaders = world.leaders();
          return wrong_with(world, leaders, {0, 2, 4});
        }) == "");
}

// The operations, tags and ranks are equal, and only the communicator tells them apart.
TEST_CASE("communicator: operations of overlapping communicators do not meet") {
  for (const ProgressMode by : {ProgressMode::polled, ProgressMode::thread})
    CHECK(everyone({.ranks = 4, .progress = by}, [](Communicator& world) -> std::string {
            std::vector<Communicator> all;
            all.push_back(world.dup());
            all.push_back(world.split(world.rank() / 2, 0));
            all.push_back(world.dup());
            all.push_back(all[1].dup());
            all.push_back(world.split(world.rank() % 2, 0));
            std::vector<std::vector<int>> own;
            std::vector<std::vector<int>> sums(all.size(), std::vector<int>(1));
            for (std::size_t i = 0; i < all.size(); ++i)
              own.push_back({static_cast<int>(i + 1)});
            std::vector<Request> requests(all.size());
            // Each rank begins with another operation.
            for (std::size_t i = 0; i < all.size(); ++i) {
              const std::size_t turned = (i + static_cast<std::size_t>(world.rank())) % all.size();
              requests[turned] = all[turned].start(
                  Collective::allreduce(own[turned], sums[turned], ReduceOp::sum));
            }
            // The wait has a limit, because operations that do meet could wait for ever.
            for (std::size_t i = 0; i < all.size(); ++i) {
              if (const Status status = requests[i].wait(std::chrono::seconds(20)); !status.ok())
                return status.message();
              if (sums[i][0] != static_cast<int>(i + 1) * all[i].size()) return cat("sum ", i);
            }
            return {};
          }) == "");
}

TEST_CASE("communicator: a started operation goes on when its communicator is freed") {
  CHECK(everyone({.ranks = 3}, [](Communicator& world) -> std::string {
          Communicator copy = world.dup();
          const std::vector<int> own{1};
          std::vector<int> sum(1);
          Request request = copy.start(Collective::allreduce(own, sum, ReduceOp::sum));
          copy.free();
          if (copy || copy.rank() != -1) return "it is still there";
          if (const Status status = request.wait(); !status.ok()) return status.message();
          if (sum[0] != 3) return "another sum";
          const Status freed = copy.barrier();
          return freed.code() == Code::bad_communicator ? "" : freed.message();
        }) == "");
}

}  // namespace
}  // namespace scela::collectives::test::subsets_test
