// Checks node sets against ClusterShell 1.9.1 (Debian 12's package). Each row has a text, what
// `nodeset --fold` printed for it, and what `nodeset --expand` printed ("..." if that is long).
#include <catch2/catch.hpp>
#include <string>

#include "common/core/nodeset/nodeset.h"

namespace nodeset_clustershell_test {

using namespace scela;

namespace {

struct Row {
  const char* text;
  const char* folded;
  const char* expanded;
};

const Row kRows[] = {
    {"node[1-10]", "node[1-10]", "node1 node2 node3 node4 node5 node6 node7 node8 node9 node10"},
    {"node[008-011]", "node[008-011]", "node008 node009 node010 node011"},
    {"node[001-128,200]", "node[001-128,200]", "..."},
    {"node[1-9],node[01-09]", "node[1-9,01-09]",
     "node1 node2 node3 node4 node5 node6 node7 node8 node9 node01 node02 node03 node04 node05 "
     "node06 node07 node08 node09"},
    {"node[8-11],node[08-11]", "node[8-9,08-11]", "node8 node9 node08 node09 node10 node11"},
    {"node[99-101],node[099-100]", "node[99,099-101]", "node99 node099 node100 node101"},
    {"node[9-11,099-101]", "node[9-11,099-101]", "node9 node10 node11 node099 node100 node101"},
    {"n[1-12],n01", "n[1-9,01,10-12]", "n1 n2 n3 n4 n5 n6 n7 n8 n9 n01 n10 n11 n12"},
    {"n[1-100],n[01-09]", "n[1-9,01-99,100]", "..."},
    {"n[1-3],n[01-03],n001,n10,n100", "n[1-3,01-03,10,001,100]",
     "n1 n2 n3 n01 n02 n03 n10 n001 n100"},
    {"n0,n00,n000", "n[0,00,000]", "n0 n00 n000"},
    {"n[00-10]", "n[00-10]", "n00 n01 n02 n03 n04 n05 n06 n07 n08 n09 n10"},
    {"n[1,02,003]", "n[1,02,003]", "n1 n02 n003"},
    {"n[0-10/2]", "n[0,2,4,6,8,10]", "n0 n2 n4 n6 n8 n10"},
    {"n[1-10/3]", "n[1,4,7,10]", "n1 n4 n7 n10"},
    {"n[0-9/3]", "n[0,3,6,9]", "n0 n3 n6 n9"},
    {"n[1-3/2]", "n[1,3]", "n1 n3"},
    {"n[1-3/02]", "n[1,3]", "n1 n3"},
    {"n[3-3]", "n3", "n3"},
    {"n[5,3,1-2]", "n[1-3,5]", "n1 n2 n3 n5"},
    {"n[5-7,1-6]", "n[1-7]", "n1 n2 n3 n4 n5 n6 n7"},
    {"n1,n2", "n[1-2]", "n1 n2"},
    {"foo", "foo", "foo"},
    {"foo,bar", "bar,foo", "bar foo"},
    {"node7,node5,node6", "node[5-7]", "node5 node6 node7"},
    {"n2,n10,n1,n1-ib,n1-ib0", "n[1-2,10],n1-ib,n1-ib0", "n1 n2 n10 n1-ib n1-ib0"},
    {"nx,n1,n-x,n,n.x,n_x,nA,N1", "N1,n,n1,n-x,n.x,nA,n_x,nx", "N1 n n1 n-x n.x nA n_x nx"},
    {"node-1", "node-1", "node-1"},
    {"node_1.cluster", "node_1.cluster", "node_1.cluster"},
    {"node-[1-3]", "node-[1-3]", "node-1 node-2 node-3"},
    {"[1-3]", "[1-3]", "1 2 3"},
    {"1,2,3", "[1-3]", "1 2 3"},
    {"[1-3]n", "[1-3]n", "1n 2n 3n"},
    {"n[1-3]/2", "n[1-3]/2", "n1/2 n2/2 n3/2"},
    {"n[1-10]n,n[5-15]n", "n[1-15]n",
     "n1n n2n n3n n4n n5n n6n n7n n8n n9n n10n n11n n12n n13n n14n n15n"},
    {"n[ 1-2 ]", "n[1-2]", "n1 n2"},
    {"n[1 - 3]", "n[1-3]", "n1 n2 n3"},
    {"n[1, 2]", "n[1-2]", "n1 n2"},
    {"n1[1-2]", "n[11-12]", "n11 n12"},
    {"n1[01-02]", "n[101-102]", "n101 n102"},
    {"n[1-2]3", "n[13,23]", "n13 n23"},
    {"n[1-2]03", "n[103,203]", "n103 n203"},
    {"n[01-02]3,n013", "n[013,023]", "n013 n023"},
    {"n[0-1]0,n0[0-1]", "n[00-01,10]", "n00 n01 n10"},
    {"n[1-2]n1[5-6]", "n[1-2]n[15-16]", "n1n15 n1n16 n2n15 n2n16"},
    {"n[9-11]1", "n[91,101,111]", "n91 n101 n111"},
    {"n1-eth0", "n1-eth0", "n1-eth0"},
    {"n[1-2]-eth[0-1]", "n[1-2]-eth[0-1]", "n1-eth0 n1-eth1 n2-eth0 n2-eth1"},
    {"n[1-2],n[1-2]-ib0", "n[1-2],n[1-2]-ib0", "n1 n2 n1-ib0 n2-ib0"},
    {"rack[1-4]n[01-03]", "rack[1-4]n[01-03]",
     "rack1n01 rack1n02 rack1n03 rack2n01 rack2n02 rack2n03 rack3n01 rack3n02 rack3n03 rack4n01 "
     "rack4n02 rack4n03"},
    {"rack[1-2]n[1-9],rack[1-2]n[01-10]", "rack[1-2]n[1-9,01-10]", "..."},
    {"n[1-2]e[01-02],n[1-2]e[1-2]", "n[1-2]e[1-2,01-02]",
     "n1e1 n1e2 n1e01 n1e02 n2e1 n2e2 n2e01 n2e02"},
    {"n[01-02]-[001-002]", "n[01-02]-[001-002]", "n01-001 n01-002 n02-001 n02-002"},
    {"n1e2,n2e1,n1e1,n2e2", "n[1-2]e[1-2]", "n1e1 n1e2 n2e1 n2e2"},
    {"n1e1,n2e2,n3e3", "n1e1,n2e2,n3e3", "n1e1 n2e2 n3e3"},
    {"n1e[1-3],n[2-3]e1", "n1e[1-3],n[2-3]e1", "n1e1 n1e2 n1e3 n2e1 n3e1"},
    {"n[1-3]e1,n1e[2-5]", "n1e[1-5],n[2-3]e1", "n1e1 n1e2 n1e3 n1e4 n1e5 n2e1 n3e1"},
    {"n[1-3]e[1-3]!n3e3", "n[1-2]e[1-3],n3e[1-2]", "n1e1 n1e2 n1e3 n2e1 n2e2 n2e3 n3e1 n3e2"},
    {"[1-2]-[3-4],[1-2]-5", "[1-2]-[3-5]", "1-3 1-4 1-5 2-3 2-4 2-5"},
    {"a[1-2]b[1-2]c[1-2]", "a[1-2]b[1-2]c[1-2]",
     "a1b1c1 a1b1c2 a1b2c1 a1b2c2 a2b1c1 a2b1c2 a2b2c1 a2b2c2"},
    {"a1,a01,a001,a1b1", "a[1,01,001],a1b1", "a1 a01 a001 a1b1"},
    {"10.0.0.1,10.0.0.2", "10.0.0.[1-2]", "10.0.0.1 10.0.0.2"},
    {"192.168.1.[1-5]", "192.168.1.[1-5]",
     "192.168.1.1 192.168.1.2 192.168.1.3 192.168.1.4 192.168.1.5"},
    {"10.0.0.9,10.0.0.10,10.0.1.9,10.0.1.10", "10.0.[0-1].[9-10]",
     "10.0.0.9 10.0.0.10 10.0.1.9 10.0.1.10"},
    {"2001:db8::1", "2001:db8::1", "2001:db8::1"},
    {"n[1-3]!n2", "n[1,3]", "n1 n3"},
    {"n[1-3]&n[2-5]", "n[2-3]", "n2 n3"},
    {"n[1-3]^n[2-5]", "n[1,4-5]", "n1 n4 n5"},
    {"n[1-5]!n[2-3],n2", "n[1-2,4-5]", "n1 n2 n4 n5"},
    {"n[1-2]!n[1-2]", "", ""},
    {"n1 ! n2", "n1", "n1"},
    {"n1& n1 ^ n2,n3", "n[1-3]", "n1 n2 n3"},
    {"n[1-3]^n[2-4]^n[3-5]", "n[1,3,5]", "n1 n3 n5"},
    {"n[1-5],m[1-3]!n[2-3],m1&n[1-9],m2", "m2,n[1,4-5]", "m2 n1 n4 n5"},
    {"a,b!b^c,a", "a,c", "a c"},
    {"a&b", "", ""},
    {"a^b", "a,b", "a b"},
    {"n1!n1,n2", "n2", "n2"},
    {"n&n1,n", "n", "n"},
    {"rack[1-4]n[1-4]&rack[2-3]n[1-9]!rack[1-9]n4", "rack[2-3]n[1-3]",
     "rack2n1 rack2n2 rack2n3 rack3n1 rack3n2 rack3n3"},
};

std::string joined(const NodeSet& set) {
  std::string out;
  for (const std::string& name : set)
    out += (out.empty() ? "" : " ") + name;
  return out;
}

}  // namespace

TEST_CASE("node sets fold as ClusterShell folds them") {
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const Result<NodeSet> set = NodeSet::parse(row.text);
    REQUIRE(set);
    CHECK(set->fold() == row.folded);
  }
}

TEST_CASE("node sets expand as ClusterShell expands them, in its order") {
  for (const Row& row : kRows) {
    if (row.expanded == std::string("...")) continue;
    CAPTURE(row.text);
    const Result<NodeSet> set = NodeSet::parse(row.text);
    REQUIRE(set);
    CHECK(joined(*set) == row.expanded);
  }
}

}  // namespace nodeset_clustershell_test
