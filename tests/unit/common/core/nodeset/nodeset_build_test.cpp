#include "common/core/nodeset/nodeset_build.h"

#include <catch2/catch.hpp>

namespace nodeset_build_test {

using namespace scela;
using namespace scela::nodeset;

TEST_CASE("a builder drops repeated names and sorts the rest") {
  Builder builder;
  for (const char* name : {"n2", "a", "n1", "n2", "a", "r2n1", "r1n9", "r2n1"}) {
    builder.add_name(name);
  }
  CHECK(builder.raw_count() == 8);
  builder.compact();
  CHECK(builder.raw_count() == 5);
  const NodeSet set = builder.finish();
  CHECK(set.expand() == std::vector<std::string>{"a", "n1", "n2", "r1n9", "r2n1"});
  CHECK(builder.empty());
}

TEST_CASE("names that follow a compaction are still found and merged") {
  Builder builder;
  builder.add_name("n5");
  builder.add_name("x");
  builder.compact();
  builder.add_name("n1");
  builder.add_name("x");
  builder.add_name("n5");
  CHECK(builder.finish().expand() == std::vector<std::string>{"n1", "n5", "x"});
}

TEST_CASE("a product adds every choice of one key from each list") {
  Builder builder;
  builder.add_product("a\x01x\x01", {{key_of({2, 1}), key_of({1, 1})}, {key_of({3, 2})}});
  CHECK(builder.finish().expand() == std::vector<std::string>{"a1x03", "a2x03"});
}

TEST_CASE("rows too long to sort as one number are sorted all the same") {
  Builder builder;
  const std::string big = "999999999999999999";
  builder.add_name("a" + big + "b" + big + "c" + big);
  builder.add_name("a" + big + "b" + big + "c0");
  builder.add_name("a" + big + "b" + big + "c" + big);
  builder.add_name("a0b" + big + "c7");
  builder.add_name("a" + big + "b1c3");
  const std::vector<std::string> names = builder.finish().expand();
  CHECK(names == std::vector<std::string>{"a0b" + big + "c7", "a" + big + "b1c3",
                                          "a" + big + "b" + big + "c0",
                                          "a" + big + "b" + big + "c" + big});
}

TEST_CASE("thousands of patterns are kept apart and come out in order") {
  Builder builder;
  std::vector<std::string> names;
  for (char a = 'z'; a >= 'a'; --a) {
    for (char b = 'z'; b >= 'a'; --b) {
      for (char c = 'z'; c >= 'a'; c = static_cast<char>(c - 5)) {
        names.push_back(std::string("hostname-") + a + b + c);
        builder.add_name(names.back());
      }
    }
  }
  const NodeSet set = builder.finish();
  CHECK(set.size() == names.size());
  CHECK(set.expand() == std::vector<std::string>(names.rbegin(), names.rend()));
}

}  // namespace nodeset_build_test
