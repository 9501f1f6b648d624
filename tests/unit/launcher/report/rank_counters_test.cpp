// The counters that ranks have reported, as --stats shows them.
#include "launcher/report/rank_counters.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "common/core/text.h"

namespace rank_counters_test {

using namespace scela;
using Json = nlohmann::json;

namespace {

const RankSet kRanks = RankSet::run(0, 10'000);

std::string line(std::uint64_t rank, const std::string& values, const char* name = "channel") {
  return cat(R"({"counters":")", name, R"(","rank":)", rank, R"(,"values":)", values, "}\n");
}

}  // namespace

TEST_CASE("figures of all ranks are sums, and of what was the most at a time the most") {
  RankCounters counters;
  counters.add(0, kRanks, line(0, R"({"sent":5,"max_kept":7,"peers":{"1":{"sent":5}}})"));
  counters.add(0, kRanks, line(1, R"({"sent":3,"max_kept":9})"));
  counters.add(0, kRanks, line(1, R"({"sent":1,"max_kept":2,"peers":{"0":{"sent":1}}})"));
  counters.add(0, kRanks, line(0, R"({"gets":1})", "cache"));
  CHECK(Json::parse(counters.json()) == Json::parse(
                                            R"({"channel":{"all":{"sent":9,"max_kept":9},
                "ranks":{"0":{"sent":5,"max_kept":7,"peers":{"1":{"sent":5}}},
                         "1":{"sent":4,"max_kept":9,"peers":{"0":{"sent":1}}}}},
                "cache":{"all":{"gets":1},"ranks":{"0":{"gets":1}}}})"));
}

TEST_CASE("counters come in pieces, of several nodes at once, among other lines") {
  RankCounters counters;
  const std::string one = line(0, R"({"sent":1})"), two = line(1, R"({"sent":2})");
  counters.add(0, kRanks, one.substr(0, 20));
  counters.add(1, kRanks, "{\"name\":\"run\"}\n" + two.substr(0, 30));
  counters.add(0, kRanks,
               one.substr(20) + "{\"counters\":5}\n{\"counters\":\"channel\"}\n{\"counters\":");
  counters.add(1, kRanks, two.substr(30));
  CHECK(Json::parse(counters.json())["channel"]["all"] == Json({{"sent", 3}}));
}

TEST_CASE("counters of ranks are shown or left out, whatever they contain") {
  RankCounters counters;
  counters.add(0, kRanks, line(0, R"({"a":{},"b":1,"c":-1,"d":"x","e":[1],"f":null,"g":1.5})"));
  counters.add(0, kRanks, line(0, R"({"a":1,"b":{"b":1}})"));
  counters.add(0, kRanks, line(1, R"({"a":1,"b":{}})"));
  counters.add(0, kRanks, line(2, "5"));
  counters.add(0, kRanks, line(2, R"("b")"));
  const Json found = Json::parse(counters.json())["channel"];
  CHECK(found["all"] == Json({{"a", 1}, {"b", 1}}));
  CHECK(found["ranks"]["0"]["b"] == 1);
  CHECK_FALSE(found["ranks"].contains("2"));
  CHECK(counters.text(3).find("2 of 3 ranks") != std::string::npos);
}

TEST_CASE("the table has a column for each of few ranks, and the least and the most of many") {
  CHECK(RankCounters().text(2).empty());
  RankCounters few;
  few.add(0, kRanks, line(0, R"({"sent":5,"rnr_events":0})"));
  few.add(0, kRanks, line(11, R"({"sent":1000,"rnr_events":0})"));
  CHECK(few.text(12) ==
        "scela-run:   channel, as 2 of 12 ranks told\n"
        "scela-run:            all  0    11\n"
        "scela-run:     sent  1005  5  1000\n");
  RankCounters many;
  for (Rank rank = 0; rank < 9; ++rank)
    many.add(0, kRanks, line(rank, cat(R"({"sent":)", rank + 1, "}")));
  CHECK(many.text(9) ==
        "scela-run:   channel, as 9 of 9 ranks told\n"
        "scela-run:           all  least  most\n"
        "scela-run:     sent   45      1     9\n");
}

TEST_CASE("a node tells of its own ranks, and no more than they may write") {
  RankCounters counters;
  const RankSet own = RankSet::single(1);
  counters.add(0, own, line(2, R"({"sent":5})"));
  counters.add(0, own, line(4'294'967'297, R"({"sent":5})"));
  CHECK(counters.text(3).empty());
  for (int i = 0; i < 10'000; ++i)
    counters.add(0, own, line(1, R"({"sent":1})"));
  const Json told = Json::parse(counters.json());
  CHECK(told["channel"]["all"]["sent"] < 1000);
  CHECK(told["channel"]["all"]["sent"] > 100);
}

TEST_CASE("deeply nested counters are left out, at any depth") {
  RankCounters counters;
  const std::size_t depth = GENERATE(3u, 100u, 3'000u);
  std::string values;
  for (std::size_t i = 0; i < depth; ++i)
    values += R"({"a":)";
  values += "1" + std::string(depth, '}');
  counters.add(0, kRanks, line(0, R"({"sent":5,"deep":)" + values + ",\"list\":[[[[1]]]]}"));
  CHECK(Json::parse(counters.json())["channel"]["all"] == Json::parse(R"({"sent":5})"));
  CHECK(counters.text(1).find("sent") != std::string::npos);
  CHECK(counters.json().size() < 300);
}

TEST_CASE("of very many kinds and figures some are shown, without what a terminal obeys") {
  RankCounters counters;
  for (int i = 0; i < 100; ++i)
    counters.add(0, kRanks, line(0, R"({"sent":5})", cat("kind", i).c_str()));
  CHECK(Json::parse(counters.json()).size() == 16);
  RankCounters one;
  for (int i = 0; i < 1000; ++i)
    one.add(0, kRanks,
            line(static_cast<std::uint64_t>(i % 100),
                 cat(R"({"figure)", i, R"(\u001b[31m\u009b)", std::string(100, 'x'), "\":1}")));
  const std::string text = one.text(1);
  CHECK(text.find("and 800 figures more") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\xc2\x9b") == std::string::npos);
  CHECK(text.size() < 200 * 100);
}

TEST_CASE("an endless line is left out, and what follows it is taken") {
  RankCounters counters;
  for (int i = 0; i < 1000; ++i)
    counters.add(0, kRanks,
                 R"({"counters":"channel","rank":0,"values":{"x)" + std::string(1000, 'x'));
  counters.add(0, kRanks, "\":1}}\n" + line(0, R"({"sent":5})"));
  CHECK(Json::parse(counters.json())["channel"]["all"] == Json::parse(R"({"sent":5})"));
}

}  // namespace rank_counters_test
