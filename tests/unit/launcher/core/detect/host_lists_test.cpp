// Tests the parsers of the lists that schedulers write.
#include "launcher/core/detect/host_lists.h"

#include <catch2/catch.hpp>

namespace scela {
namespace {

using Names = std::vector<std::string>;
using Counts = std::vector<std::uint32_t>;
using Hosts = std::vector<AllocatedHost>;

TEST_CASE("host lists: a node list has ranges, widths, several brackets and text behind them") {
  CHECK(*expand_node_list("node[001-003,7],login") ==
        Names{"node001", "node002", "node003", "node7", "login"});
  CHECK(*expand_node_list("x[1-2]-int") == Names{"x1-int", "x2-int"});
  CHECK(*expand_node_list("r[1-2]n[08-10]") ==
        Names{"r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"});
  CHECK(*expand_node_list("n[9-11]") == Names{"n9", "n10", "n11"});
  CHECK(*expand_node_list("[1-2]") == Names{"1", "2"});
}

TEST_CASE("host lists: the order and repeated names of a node list stay") {
  CHECK(*expand_node_list("b,a,b") == Names{"b", "a", "b"});
  CHECK(*expand_node_list("") == Names{});
  CHECK(*expand_node_list(" a ") == Names{"a"});
}

TEST_CASE("host lists: a damaged node list is an error that shows what was not understood") {
  CHECK(expand_node_list("n[1-").error().why == "'n[1-': a bracket is not closed");
  CHECK(expand_node_list("n[2-1]").error().why == "'n[2-1]': '2-1' ends before it begins");
  for (const char* list : {"n[]", "n[a]", "n[1-]", "n[-1]", "n[1--2]", "n[1,]", "n[9999999999]",
                           "a,,b", "a;b", "-n", "n]", "a b", "n[1-2", "a\x1b[2J"}) {
    const auto names = expand_node_list(list);
    INFO(list);
    REQUIRE_FALSE(names);
    CHECK(names.error().kind == ErrorKind::usage);
    CHECK_FALSE(names.error().why.empty());
  }
}

TEST_CASE("host lists: a node list cannot ask for unbounded memory") {
  CHECK_FALSE(expand_node_list("n[0-999999999]"));
  CHECK_FALSE(expand_node_list("n[0-9999]x[0-9999]"));
  CHECK_FALSE(expand_node_list("n[0-999999],m[0-999999]"));
}

TEST_CASE("host lists: counts are repeated, and not more than there are hosts") {
  CHECK(*expand_counts("16(x2),8", 3) == Counts{16, 16, 8});
  CHECK(*expand_counts("4", 5) == Counts{4});
  for (const char* list : {"16(x2),8,9", "16(x4000000000)", "0", "a", "4(x)", "4(x2", "4(2)", "-1"})
    CHECK_FALSE(expand_counts(list, 3));
}

TEST_CASE("host lists: each line of a node file is a slot") {
  CHECK(*hosts_by_line("n1\nn1\r\n\n# comment\nn2\nn1\n") ==
        Hosts{{"n1", 3, std::nullopt}, {"n2", 1, std::nullopt}});
  CHECK(hosts_by_line("n1\nn;2\n").error().why == "line 2: 'n;2' is not the name of a host");
  CHECK(hosts_by_line("")->empty());
}

TEST_CASE("host lists: slots of several queues of a host are added, and bound processors counted") {
  CHECK(*parse_pe_hostfile("node001 2 all.q@node001 UNDEFINED\nnode002 2 all.q@node002 UNDEFINED\n"
                           "node001 1 long.q@node001 UNDEFINED\n") ==
        Hosts{{"node001", 3, std::nullopt}, {"node002", 2, std::nullopt}});
  CHECK(*parse_pe_hostfile("a 2 q 0,0:0,1\nb 1 q <NULL>\nc 1\n") ==
        Hosts{{"a", 2, 2}, {"b", 1, std::nullopt}, {"c", 1, std::nullopt}});
  CHECK(parse_pe_hostfile("a\n").error().why == "line 1: the number of slots is missing");
  CHECK_FALSE(parse_pe_hostfile("a x q UNDEFINED\n"));
  CHECK_FALSE(parse_pe_hostfile("a 0 q UNDEFINED\n"));
}

TEST_CASE("host lists: LSF's pairs of hosts and slots") {
  CHECK(*parse_mcpu_hosts("h1 4 h2 2") == Hosts{{"h1", 4, std::nullopt}, {"h2", 2, std::nullopt}});
  CHECK(parse_mcpu_hosts("h1 4 h2").error().why == "the number of slots of 'h2' is missing");
  CHECK_FALSE(parse_mcpu_hosts("h1 four"));
}

TEST_CASE("host lists: LSF's affinity file may name hosts in another form") {
  Hosts hosts = {{"h1.cluster", 2, std::nullopt}, {"h2", 1, std::nullopt}};
  REQUIRE(add_affinity("h1 0,1\nh1 2-3\nh2.cluster 4\nother 0\n", hosts));
  CHECK(hosts == Hosts{{"h1.cluster", 2, 4}, {"h2", 1, 1}});
  CHECK_FALSE(add_affinity("h1 3-1\n", hosts));
  CHECK_FALSE(add_affinity("h1 x\n", hosts));
}

TEST_CASE("host lists: slots of one host are bounded") {
  HostTally tally;
  REQUIRE(tally.add("a", kMaxOfHost));
  CHECK_FALSE(tally.add("a", 1));
  CHECK_FALSE(tally.add(std::string(300, 'a'), 1));
}

}  // namespace
}  // namespace scela
