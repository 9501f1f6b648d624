// Tests the fences of one node, with answers that the test makes. pmix_service_test.cpp has those
// of several nodes.
#include "nla/core/pmix/pmix_fences.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pmix_fences_test {

using namespace scela;
using namespace scela::nla;
using pmix::Status;

namespace {

// Node 1 of two nodes with two ranks each.
struct Fixture {
  Fixture() { job.map = RankMap::from_blocks({{0, 2, 2}}); }
  bool fence(pmix::Id id, RankSet set, std::string name = {}) {
    pmix::msg::Fence message;
    message.id = id;
    message.ranks = std::move(set);
    message.name = std::move(name);
    message.blob = "b" + std::to_string(id);
    return fences.receive(message);
  }
  const ask::Collective& gather(std::size_t at) const {
    return std::get<ask::Collective>(asked.at(at).second);
  }
  // The agent answers a question. `contributions` are those of the nodes.
  void answer(std::size_t at, std::vector<Chunk> contributions) {
    Response response;
    response.parts = std::move(contributions);
    const auto question = questions.take(asked.at(at).first);
    REQUIRE(question.has_value());
    fences.answered(*question, response);
  }

  Job job;
  RankSet own = RankSet::run(2, 2);
  std::vector<pmix::msg::Answer> told;
  std::vector<std::pair<RequestId, Request>> asked;
  PmixQuestions questions{
      [this](pmix::Message message) { told.push_back(std::get<pmix::msg::Answer>(message)); },
      [this](Rank, RequestId number, Request request) {
        asked.emplace_back(number, std::move(request));
      }};
  PmixRanks ranks{job, own, nullptr, nullptr};
  PmixFences fences{job, own, ranks, questions};
};

}  // namespace

TEST_CASE("PMIx fences: the lowest rank of each node gathers, and sets that differ overlap") {
  Fixture f;
  CHECK_FALSE(f.fence(1, RankSet::run(0, 2)));  // no rank of this node is in it
  CHECK_FALSE(f.fence(1, RankSet::run(2, 3)));  // there is no rank 4
  CHECK(f.fence(1, RankSet::run(0, 4)));
  CHECK(f.fence(2, RankSet::run(1, 3)));
  REQUIRE(f.asked.size() == 2);
  RankSet leaders = RankSet::single(0);
  leaders.add(2);
  CHECK(f.gather(0).set == leaders);
  CHECK(f.gather(0).tag != f.gather(1).tag);
  f.answer(1, f.gather(1).parts);
  REQUIRE(f.told.size() == 1);
  CHECK(f.told[0].id == 2);
  CHECK(f.told[0].status == Status::ok);
  CHECK(f.told[0].blob == "b2");
}

TEST_CASE("PMIx fences: fences of one set follow each other") {
  Fixture f;
  CHECK(f.fence(1, f.own));
  CHECK(f.fence(2, f.own));
  REQUIRE(f.asked.size() == 1);
  f.answer(0, f.gather(0).parts);
  REQUIRE(f.asked.size() == 2);
  CHECK(f.gather(1).tag == f.gather(0).tag);
  f.answer(1, f.gather(1).parts);
  REQUIRE(f.told.size() == 2);
  CHECK(f.told[1].id == 2);
}

TEST_CASE("PMIx fences: a contribution for another set, or an incomplete one, fails them") {
  Fixture f;
  SECTION("another set") {
    CHECK(f.fence(1, f.own));
    CHECK(f.fence(2, RankSet::run(0, 4)));
    f.answer(0, f.gather(1).parts);
  }
  SECTION("incomplete") {
    f.ranks.ended(3);
    CHECK(f.fence(1, f.own));
    f.answer(0, f.gather(0).parts);
  }
  REQUIRE(f.told.size() == 1);
  CHECK(f.told[0].id == 1);
  CHECK(f.told[0].status == Status::failed);
  CHECK(f.told[0].blob.empty());
}

TEST_CASE("PMIx fences: none begins without the rank that would gather") {
  Fixture f;
  CHECK(f.fence(1, f.own));
  CHECK(f.fence(2, f.own));
  f.ranks.ended(2);
  REQUIRE(f.questions.take_of(2).size() == 1);
  f.fences.go_on({f.own, ""});
  REQUIRE(f.told.size() == 1);
  CHECK(f.told[0].id == 2);
  CHECK(f.told[0].status == Status::failed);
  CHECK(f.fence(3, f.own));
  CHECK(f.asked.size() == 1);
  CHECK(f.told.size() == 2);
}

}  // namespace pmix_fences_test
