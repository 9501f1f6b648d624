#include "nla/core/pmix/pmix_names.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/kvs/names.h"

namespace pmix_names_test {

using namespace scela;
using namespace scela::nla;
using pmix::Status;

namespace {

// Node 1 of two nodes with two ranks each.
struct Fixture {
  Fixture() { job.map = RankMap::from_blocks({{0, 2, 2}}); }
  bool publish(Rank rank, std::string name, pmix::Keep keep = {}) {
    pmix::msg::Publish message;
    message.id = 1;
    message.rank = rank;
    message.name = std::move(name);
    message.keep = keep;
    return names.receive(message);
  }
  const ask::Name& name(std::size_t at) const { return std::get<ask::Name>(asked.at(at)); }

  Job job;
  RankSet own = RankSet::run(2, 2);
  std::vector<pmix::msg::Answer> told;
  std::vector<Request> asked;
  PmixQuestions questions{
      [this](pmix::Message message) { told.push_back(std::get<pmix::msg::Answer>(message)); },
      [this](Rank, RequestId, Request request) { asked.push_back(std::move(request)); }};
  PmixRanks ranks{job, own, nullptr, nullptr};
  PmixNames names{job, 1, ranks, questions};
};

}  // namespace

TEST_CASE("PMIx names: only the names of a rank end with it, and only once") {
  Fixture f;
  CHECK(f.publish(2, "stays"));
  CHECK(f.publish(3, "goes", pmix::Keep::rank));
  REQUIRE(f.asked.size() == 2);
  CHECK(f.name(0).act == NameAct::publish);
  CHECK(f.name(1).act == NameAct::publish_own);
  f.names.rank_ended(2);
  CHECK(f.asked.size() == 2);
  f.names.rank_ended(3);
  f.names.rank_ended(3);
  REQUIRE(f.asked.size() == 3);
  CHECK(f.name(2).act == NameAct::withdraw);
}

TEST_CASE("PMIx names: requests that cannot be are refused here, without the table") {
  Fixture f;
  CHECK_FALSE(f.publish(1, "n"));  // of the other node
  CHECK(f.publish(2, std::string(kMaxName + 1, 'n')));
  REQUIRE(f.told.size() == 1);
  CHECK(f.told[0].status == Status::too_large);
  f.ranks.ended(3);
  CHECK(f.publish(3, "n"));
  REQUIRE(f.told.size() == 2);
  CHECK(f.told[1].status == Status::failed);
  CHECK(f.asked.empty());
}

TEST_CASE("PMIx names: a look-up that waits can be given up, one that does not is answered") {
  Fixture f;
  pmix::msg::Lookup message;
  message.id = 5;
  message.rank = 2;
  message.name = "n";
  message.wait = GENERATE(true, false);
  const bool waits = message.wait;
  CHECK(f.names.receive(message));
  REQUIRE(f.asked.size() == 1);
  CHECK(f.name(0).act == (waits ? NameAct::await : NameAct::lookup));
  CHECK(f.name(0).name == "n");
  f.questions.give_up(5);
  CHECK(f.asked.size() == (waits ? 2U : 1U));
}

}  // namespace pmix_names_test
