#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/core/nodeset/nodeset.h"
#include "common/core/random.h"

namespace nodeset_fold_test {

using namespace scela;

namespace {

std::string folded(std::string_view text) {
  return NodeSet::parse(text).value().fold();
}

}  // namespace

TEST_CASE("the empty set folds to nothing") {
  CHECK(NodeSet().fold().empty());
}

TEST_CASE("text is the folded form") {
  CHECK(NodeSet::parse("n2 n1").value().text() == "n[1-2]");
}

TEST_CASE("a name with a number folds with a range of the same pattern") {
  CHECK(folded("node7,node[1-6],node9") == "node[1-7,9]");
  CHECK(folded("10.0.0.2,10.0.0.1") == "10.0.0.[1-2]");
  CHECK(folded("n1-ib0,n2-ib0") == "n[1-2]-ib0");
}

TEST_CASE("a product of ranges folds to one term in any number of dimensions") {
  for (const char* text :
       {"rack[1-4]n[01-32]", "a[1-3]b[1-3]c[1-3]d[1-3]", "x[0,2]y[1,01]z[5-7]-[1-2]",
        "10.[0-3].[0-7].[1-20]", "a[1-2]b[1-2]c[1-2]d[1-2]e[1-2]f[1-2]"}) {
    const NodeSet set = NodeSet::parse(text).value();
    std::vector<std::string> names = set.expand();
    Random random(3);
    for (std::size_t i = names.size(); i > 1; --i)
      std::swap(names[i - 1], names[random.below(i)]);
    CHECK(NodeSet::from_names(names).value().fold() == text);
  }
}

TEST_CASE("a product with one node missing folds to a term per dimension") {
  CHECK(folded("n[1-3]e[1-3]!n2e2") == "n[1,3]e[1-3],n2e[1,3]");
  const std::string text = folded("a[1-9]b[1-9]c[1-9]!a5b5c5");
  CHECK(text == "a[1-4,6-9]b[1-9]c[1-9],a5b[1-4,6-9]c[1-9],a5b5c[1-4,6-9]");
}

// ClusterShell 1.9.1 prints the longer rack[1-2]n[1-2],rack3n[1-3] for the first.
TEST_CASE(
    "of the orders in which dimensions can be merged, the one with the shortest text is taken") {
  CHECK(folded("rack[1-2]n[1-2],rack3n[1-3]") == "rack[1-3]n[1-2],rack3n3");
  CHECK(folded("n[1-4]e[1-2],n[3-4]e3,n5e[1-3]") == "n[1-5]e[1-2],n[3-5]e3");
  CHECK(folded("a[1-9]x1,a1x[1-9]") == "a1x[1-9],a[2-9]x1");
}

TEST_CASE("terms are ordered by pattern, then by their first node") {
  CHECK(folded("z,r9n1,r1n9,n5,b,n") == "b,n,n5,r1n9,r9n1,z");
}

TEST_CASE("names that do not fold come out one by one, each once") {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) {
    names.push_back("r" + std::to_string(i) + "n" + std::to_string(i * 7919 % 100'003));
  }
  const NodeSet set = NodeSet::from_names(names).value();
  const std::string text = set.fold();
  CHECK(text.find('[') == std::string::npos);
  CHECK(expand_ordered(text).value() == set.expand());
}

TEST_CASE("a hundred thousand names in a half-filled grid fold and read back") {
  Random random(5);
  std::vector<std::string> names;
  for (int i = 0; i < 100'000; ++i) {
    names.push_back("r" + std::to_string(random.below(400)) + "n" +
                    std::to_string(random.below(400)));
  }
  const NodeSet set = NodeSet::from_names(names).value();
  CHECK(NodeSet::parse(set.fold()).value() == set);
}

}  // namespace nodeset_fold_test
