#include "tests/sim/reference.h"

#include <catch2/catch.hpp>

#include "tests/sim/generator/payload.h"

namespace scela::sim::reference_test {
namespace {

using nla::Response;

Schedule program(const std::string& ops) {
  const auto schedule =
      parse_schedule("job hosts=2\nplace node=0 ranks=2\nplace node=1 ranks=2\n" + ops);
  REQUIRE(schedule);
  return *schedule;
}

Response with(std::vector<Chunk> parts) {
  return {true, "", true, std::move(parts)};
}
const Response kFailed{false, "somebody is gone", false, {}};

TEST_CASE("The serial model wants a pair found on its own node at once, elsewhere after a fence") {
  const Schedule schedule = program(
      "op id=1 kind=put rank=0 size=10\n"
      "op id=2 kind=get rank=1 peer=0 ref=1\n"
      "op id=3 kind=get rank=2 peer=0 ref=1\n"
      "op id=4 kind=collective what=fence set=0-3\n"
      "op id=5 kind=get rank=2 peer=0 ref=1\n");
  Reference model(schedule);
  const Response value = with({payload(1, 10)});
  const Response absent{};

  model.asked(0, 0, false);
  REQUIRE(model.answered(0, 0, Response{}, false).empty());
  model.asked(1, 1, true);
  CHECK(model.answered(1, 1, absent, false) != "");
  CHECK(model.answered(1, 1, value, false).empty());
  CHECK(model.answered(1, 1, with({payload(2, 10)}), false) != "");
  model.asked(2, 2, false);
  CHECK(model.answered(2, 2, absent, false).empty());  // may be, may be not
  CHECK(model.answered(2, 2, value, false).empty());
  for (Rank rank = 0; rank < 4; ++rank)
    model.asked(3, rank, false);
  REQUIRE(model.answered(3, 2, Response{}, false).empty());
  model.asked(4, 2, false);
  CHECK(model.answered(4, 2, absent, false) != "");
  CHECK(model.answered(4, 2, value, false).empty());
}

TEST_CASE("The serial model refuses an answer before all have taken part, and wrong answers") {
  const Schedule schedule =
      program("op id=1 kind=collective what=alltoall set=0,2,3 size=40 uneven=1\n");
  Reference model(schedule);
  const auto part = [&](Rank from, Rank to) {
    const auto request = std::get<nla::ask::Collective>(model.request(0, from));
    return request.parts[schedule.ops[0].set.index_of(to)];
  };
  const Response right = with({part(0, 2), part(2, 2), part(3, 2)});
  model.asked(0, 0, false);
  model.asked(0, 2, false);
  CHECK(model.answered(0, 2, right, false).find("before everybody") != std::string::npos);
  CHECK(model.absent(0) == RankSet::single(3));
  model.asked(0, 3, false);
  CHECK(model.answered(0, 2, right, false).empty());
  CHECK(model.answered(0, 2, with({part(2, 2), part(0, 2), part(3, 2)}), false) != "");
  CHECK(model.answered(0, 2, with({part(0, 2), part(2, 2)}), false) != "");
}

TEST_CASE("The serial model accepts an error only with an excuse, or when members disagree") {
  const Schedule schedule = program(
      "op id=1 kind=collective what=barrier set=0-1\n"
      "op id=2 kind=collective what=barrier set=0-1 peer=1 odd=1\n");
  Reference model(schedule);
  for (const std::uint32_t op : {0u, 1u}) {
    for (const Rank rank : {0u, 1u})
      model.asked(op, rank, false);
  }
  CHECK(model.answered(0, 0, kFailed, false) != "");
  CHECK(model.answered(0, 0, kFailed, true).empty());
  CHECK(model.answered(1, 0, kFailed, false).empty());
  CHECK(model.answered(1, 0, Response{}, false) != "");
}

TEST_CASE("The serial model matches messages of one source and tag in order") {
  const Schedule schedule = program(
      "op id=1 kind=send rank=0 peer=2 code=7 size=10\n"
      "op id=2 kind=send rank=0 peer=2 code=8 size=20\n"
      "op id=3 kind=send rank=0 peer=2 code=7 size=30\n"
      "op id=4 kind=receive rank=2 peer=0 code=7\n"
      "op id=5 kind=receive rank=2 peer=0 code=7\n"
      "op id=6 kind=receive rank=2 peer=0 code=8\n"
      "op id=7 kind=receive rank=2 peer=0 code=8\n");
  Reference model(schedule);
  CHECK(model.source_of(3) == 0);
  CHECK(model.source_of(4) == 2);
  CHECK(model.source_of(5) == 1);
  CHECK(model.source_of(6) == -1);
  CHECK(model.answered(3, 2, with({payload(1, 10)}), false) != "");  // not sent yet
  for (const std::uint32_t op : {0u, 1u, 2u})
    model.asked(op, 0, false);
  CHECK(model.answered(3, 2, with({payload(1, 10)}), false).empty());
  CHECK(model.answered(4, 2, with({payload(1, 10)}), false) != "");  // doubled
}

TEST_CASE("The serial model knows which names are there, and leaves open what overlaps") {
  const Schedule schedule = program(
      "op id=1 kind=publish rank=0 ref=9\n"
      "op id=2 kind=publish rank=1 ref=9\n"
      "op id=3 kind=lookup rank=2 ref=9\n"
      "op id=4 kind=unpublish rank=3 ref=9\n"
      "op id=5 kind=lookup rank=2 ref=9\n");
  Reference model(schedule);
  const Response port = with({Chunk(std::string("port-1"))});
  const Response refused{false, "the name is not published", false, {}};
  const Response lost{false, "the way to the table of names was lost", false, {}};
  const Response done{};

  model.asked(2, 2, false);
  CHECK(model.answered(2, 2, port, false) != "");  // it was not published
  CHECK(model.answered(2, 2, refused, false).empty());
  CHECK(model.answered(2, 2, lost, false) != "");
  CHECK(model.answered(2, 2, lost, true).empty());

  model.asked(0, 0, false);
  CHECK(model.answered(2, 2, port, false).empty());  // they overlap
  CHECK(model.answered(2, 2, with({Chunk(std::string("port-2"))}), false) != "");
  CHECK(model.answered(0, 0, refused, false) != "");
  REQUIRE(model.answered(0, 0, done, false).empty());
  model.asked(1, 1, false);
  CHECK(model.answered(1, 1, done, false) != "");  // twice
  CHECK(model.answered(1, 1, refused, false).empty());
  model.asked(4, 2, false);
  CHECK(model.answered(4, 2, refused, false) != "");
  CHECK(model.answered(4, 2, port, false).empty());
  model.asked(3, 3, false);
  CHECK(model.answered(4, 2, refused, false).empty());  // meanwhile
  CHECK(model.answered(3, 3, refused, false) != "");
}

TEST_CASE("The serial model wants a name gone that was unpublished before") {
  const Schedule schedule = program(
      "op id=1 kind=publish rank=0 ref=9\n"
      "op id=2 kind=unpublish rank=0 ref=9\n"
      "op id=3 kind=lookup rank=1 ref=9\n");
  Reference model(schedule);
  const Response done{};
  model.asked(0, 0, false);
  REQUIRE(model.answered(0, 0, done, false).empty());
  model.asked(1, 0, false);
  REQUIRE(model.answered(1, 0, done, false).empty());
  model.asked(2, 1, false);
  CHECK(model.answered(2, 1, with({Chunk(std::string("port-1"))}), false) != "");
  CHECK(model.answered(2, 1, {false, "it is not published", false, {}}, false).empty());
}

}  // namespace
}  // namespace scela::sim::reference_test
