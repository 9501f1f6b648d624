#include "nla/core/pmix/pmix_questions.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace pmix_questions_test {

using namespace scela;
using namespace scela::nla;
using pmix::Status;

namespace {

struct Fixture {
  std::vector<pmix::msg::Answer> told;
  std::vector<std::pair<RequestId, Request>> asked;
  PmixQuestions questions{
      [this](pmix::Message message) { told.push_back(std::get<pmix::msg::Answer>(message)); },
      [this](Rank, RequestId number, Request request) {
        asked.emplace_back(number, std::move(request));
      }};
  // Asks for a name; if `wait`, for one that is still to be published.
  void ask(pmix::Id id, Rank rank, bool wait = false) {
    PmixQuestion question{id, rank, {}, Status::not_found};
    if (wait) question.name = "n";
    questions.ask(std::move(question), ask::Name{NameAct::lookup, "n"});
  }
};

}  // namespace

TEST_CASE("PMIx questions: each is taken once, by its number") {
  Fixture f;
  f.ask(70, 1);
  f.questions.send(2, ask::Abort{});
  f.ask(71, 2);
  REQUIRE(f.asked.size() == 3);
  CHECK(f.asked[0].first != f.asked[1].first);
  CHECK_FALSE(f.questions.take(f.asked[1].first));
  REQUIRE(f.questions.take(f.asked[2].first)->id == 71);
  CHECK_FALSE(f.questions.take(f.asked[2].first));
  CHECK(f.questions.take(f.asked[0].first)->rank == 1);
  f.questions.answer(70, Status::ok, "b");
  REQUIRE(f.told.size() == 1);
  CHECK(f.told[0].id == 70);
  CHECK(f.told[0].blob == "b");
}

TEST_CASE("PMIx questions: the questions of a rank are taken in order, and no others") {
  Fixture f;
  f.ask(70, 1);
  f.ask(71, 2);
  f.ask(72, 1);
  CHECK(f.questions.count(1, Status::not_found) == 2);
  CHECK(f.questions.count(1, Status::not_spawned) == 0);
  const std::vector<PmixQuestion> taken = f.questions.take_of(1);
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].id == 70);
  CHECK(taken[1].id == 72);
  CHECK(f.questions.count(1, Status::not_found) == 0);
  CHECK(f.questions.take(f.asked[1].first)->id == 71);
}

TEST_CASE("PMIx questions: only one that waits for a name is given up, under its number") {
  Fixture f;
  f.ask(70, 1);
  f.ask(71, 1, true);
  f.questions.give_up(70);
  f.questions.give_up(72);
  CHECK(f.asked.size() == 2);
  f.questions.give_up(71);
  REQUIRE(f.asked.size() == 3);
  CHECK(f.asked[2].first == f.asked[1].first);
  CHECK(std::get<ask::Name>(f.asked[2].second).act == NameAct::give_up);
  CHECK(f.questions.take(f.asked[1].first)->refused == Status::timed_out);
}

}  // namespace pmix_questions_test
