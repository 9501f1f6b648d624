// Tests communicators over another library's messages (scela/point_to_point.h), for a rank that is
// alone: what such a library may say of itself. examples/collectives_over_mpi.cpp has messages.
#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "collectives/include/scela/point_to_point.h"

namespace scela::other_messages_test {

// A library of one rank, which sends and receives nothing.
class Alone final : public PointToPoint {
 public:
  int own_rank = 0;
  std::vector<int> own_nodes{0};
  std::uint32_t own_contexts = 4;
  std::uint32_t own_tags = 16;

  int rank() const override { return own_rank; }
  std::span<const int> nodes() const override { return own_nodes; }
  std::uint32_t contexts() const override { return own_contexts; }
  std::uint32_t tags() const override { return own_tags; }
  Ticket send(int, Route, std::span<const std::byte>) override { return 0; }
  Ticket receive(int, Route, std::span<std::byte>) override { return 0; }
  Outcome test(Ticket) override { return {true, 0, {}}; }
  bool wait_any(std::span<const Ticket>, Timeout) override { return true; }
  void wake() override {}
  void cancel(Ticket) override {}
};

std::string why_not(Alone& messages, const CommunicatorOptions& options = {}) {
  const Communicator made = Communicator::over(messages, options);
  if (made) return "it was made";
  CHECK(made.status().code() == Code::bad_argument);
  return made.status().message();
}

TEST_CASE("other messages: a rank alone computes, splits and agrees") {
  Alone messages;
  Communicator world = Communicator::over(messages);
  REQUIRE(world.status().ok());
  const std::array<int, 2> own{3, 4};
  std::array<int, 2> sum{};
  CHECK(world.run(Collective::allreduce(own, sum, ReduceOp::sum)).ok());
  CHECK(sum == own);
  Communicator half = world.split(0, 0);
  CHECK(half.status().ok());
  const AgreeResult agreed = half.agree(true);
  CHECK(agreed.status.ok());
  CHECK(agreed.flag);
}

TEST_CASE("other messages: as many communicators live as there are contexts, and no more") {
  Alone messages;
  Communicator world = Communicator::over(messages);
  std::vector<Communicator> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(world.dup());
    REQUIRE(all.back().status().ok());
  }
  const Communicator more = world.dup();
  CHECK(more.status().code() == Code::resources);
  CHECK_THAT(more.status().message(), Catch::Contains("has the maximum of 4 communicators"));
  all.pop_back();
  CHECK(world.dup().status().ok());
}

TEST_CASE(
    "other messages: a second communicator over the same object is refused, as its messages would "
    "meet") {
  Alone messages;
  {
    const Communicator world = Communicator::over(messages);
    REQUIRE(world.status().ok());
    CHECK_THAT(why_not(messages), Catch::Contains("it has one already"));
    Alone others;
    CHECK(Communicator::over(others).status().ok());
  }
  CHECK(Communicator::over(messages).status().ok());
}

TEST_CASE("other messages: a library that reports impossible values is refused") {
  Alone messages;
  messages.own_rank = 1;
  CHECK_THAT(why_not(messages), Catch::Contains("its rank() returns 1, but nodes() has 1 entries"));
  messages.own_rank = -1;
  CHECK_THAT(why_not(messages),
             Catch::Contains("its rank() returns -1, but nodes() has 1 entries"));
  messages.own_rank = 0;
  messages.own_nodes.clear();
  CHECK_THAT(why_not(messages), Catch::Contains("its rank() returns 0, but nodes() has 0 entries"));
  messages.own_nodes = {0};
  messages.own_contexts = 0;
  CHECK_THAT(why_not(messages), Catch::Contains("0 contexts"));
  messages.own_contexts = 1;
  messages.own_tags = 15;
  CHECK_THAT(why_not(messages), Catch::Contains("15 tags"));
  messages.own_tags = 16;
  CommunicatorOptions by_engine;
  by_engine.progress = ProgressMode::engine;
  CHECK_THAT(why_not(messages, by_engine), Catch::Contains("no adapter moves these messages"));
  // A refusal leaves the object free.
  CHECK(Communicator::over(messages).status().ok());
}

}  // namespace scela::other_messages_test
