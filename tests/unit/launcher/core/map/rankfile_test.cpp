#include "launcher/core/map/rankfile.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"

namespace rankfile_test {

using namespace scela;

namespace {

std::string refusal(std::string_view text) {
  const auto places = parse_rankfile(text, "ranks");
  REQUIRE_FALSE(places);
  CHECK(places.error().kind == ErrorKind::usage);
  return cat(places.error().where, " ", places.error().why);
}

}  // namespace

TEST_CASE("a rankfile gives each rank its host and cores") {
  const auto places = parse_rankfile(
      "# two sockets\n rank 1 = b  slot = 1:0-2,5\nrank 0=a slot=3,1\n\nrank 2=b # free\nrank 3=a "
      "slot=0:*",
      "ranks");
  REQUIRE(places);
  REQUIRE(places->size() == 4);
  CHECK((*places)[0] == RankPlace{"a", CoreChoice{kNoObject, RankSet::parse("1,3").value()}});
  CHECK((*places)[1] == RankPlace{"b", CoreChoice{1, RankSet::parse("0-2,5").value()}});
  CHECK((*places)[2] == RankPlace{"b", std::nullopt});
  CHECK((*places)[3] == RankPlace{"a", CoreChoice{0, {}}});
  const auto hosts = hosts_of(*places);
  REQUIRE(hosts);
  CHECK(*hosts == std::vector<HostEntry>{{"a", std::nullopt}, {"b", std::nullopt}});
}

TEST_CASE("a rank's host that is a large set of hosts is refused before the set is written out") {
  const auto places = parse_rankfile("rank 0=a[1-1000]b[1-1000]\n", "ranks");
  REQUIRE(places);
  const auto hosts = hosts_of(*places);
  REQUIRE_FALSE(hosts);
  CHECK(hosts.error().text().find("more nodes than the limit of 1") != std::string::npos);
  CHECK_FALSE(hosts_of({RankPlace{"a,b", std::nullopt}}));
}

TEST_CASE("a rankfile with mistakes is refused by file and line") {
  CHECK(refusal("") == " it names no rank");
  CHECK(refusal("rank 1=a\n") == " rank 0 has no place");
  CHECK(refusal("rank 0=a\nrank 0=b\n") == "ranks:2 rank 0 has a place already");
  CHECK(refusal("\nhost a\n") == "ranks:2 it does not begin with 'rank'");
  CHECK(refusal("rank 0 a\n") == "ranks:1 no '=' follows the rank");
  CHECK(refusal("rank 0=\n") == "ranks:1 no host follows '='");
  CHECK(refusal("rank x=a\n").find("ranks:1 the rank: ") == 0);
  CHECK(refusal("rank 0=a slot=\n") == "ranks:1 no core is named after slot=");
  CHECK(refusal("rank 0=a slot=*\n").find("ranks:1 the cores: ") == 0);
  CHECK(refusal("rank 0=a slot=4294967295\n").find("more than there can be") != std::string::npos);
  CHECK(refusal("rank 0=a slot=x:1\n").find("ranks:1 the socket: ") == 0);
  CHECK(refusal("rank 0=a slot=1 more\n") == "ranks:1 'more' follows");
}

TEST_CASE("ranks run on the hosts that the file names, program after program") {
  const std::vector<RankPlace> places = {{"b", {}}, {"a", {}}, {"b", {}}, {"b", {}}};
  const std::vector<MapNode> nodes = {{"a", {}}, {"b", 1}};
  const auto all = map_by_rankfile(places, nodes, {std::nullopt});
  REQUIRE(all);
  CHECK(all->map.ranks_of(0).text() == "1");
  CHECK(all->map.ranks_of(1).text() == "0,2-3");
  const auto two = map_by_rankfile(places, nodes, {1, 2});
  REQUIRE(two);
  CHECK(two->segments == std::vector<SegmentRanks>{{0, 1}, {1, 2}});
  CHECK(two->map.size() == 3);
  CHECK_FALSE(map_by_rankfile(places, nodes, {2, 3}));
  CHECK_FALSE(map_by_rankfile(places, nodes, {1, std::nullopt}));
  const auto lost = map_by_rankfile(places, {{"a", {}}}, {std::nullopt});
  REQUIRE_FALSE(lost);
  CHECK(lost.error().why == "rank 0 is to run on 'b', which is not among the job's hosts");
}

}  // namespace rankfile_test
