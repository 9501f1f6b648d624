// Tests what nodes say of their ranks, and how the questions and answers travel in the tree.
#include "nla/core/wire/inspection.h"

#include <catch2/catch.hpp>

#include "tests/unit/nla/core/agent/chain.h"

namespace inspection_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;

TEST_CASE("answers about ranks are read as they were written, and other bytes are an error") {
  const std::vector<RankProcess> processes = {{0, 17, "/bin/a b"}, {70000, 4000000, ""}};
  CHECK(decode_processes(encode(processes)).value() == processes);
  const std::vector<RankStacks> stacks = {{RankSet::run(0, 9), "#0 f\n"}, {RankSet(), ""}};
  CHECK(decode_stacks(encode(stacks)).value() == stacks);
  CHECK(decode_stacks(encode(std::vector<RankStacks>())).value().empty());
  const std::string bytes = encode(stacks);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_stacks(bytes.substr(0, size)).has_value());
  CHECK_FALSE(decode_stacks(bytes + "x").has_value());
}

TEST_CASE("ranks with the same stacks share one text, which may be cut") {
  std::vector<RankStacks> list;
  fold_into(list, {RankSet::single(3), "a"});
  fold_into(list, {RankSet::single(1), "bbbb"});
  fold_into(list, {RankSet::run(4, 2), "a"});
  REQUIRE(list.size() == 2);
  CHECK(list[0] == RankStacks{RankSet::run(3, 3), "a"});
  CHECK(list[1] == RankStacks{RankSet::single(1), "bbbb"});
  cut_texts(list, 4);
  CHECK(list[0].text == "a");
  CHECK(list[1].text == "bb");
}

TEST_CASE("a question about ranks reaches this node and those below, and answers go up") {
  Chain chain;
  chain.launch();
  chain.from(kParentLink, msg::Inspect{Inspection::stacks, 7, {}});
  REQUIRE(chain.sent<msg::Inspect>(1).size() == 1);
  CHECK(chain.sent<msg::Inspect>(1)[0] == msg::Inspect{Inspection::stacks, 7, {}});
  chain.give(event::Inspected{true, Chunk(std::string("own"))});
  REQUIRE(chain.sent<msg::Inspected>(kParentLink).size() == 1);
  CHECK(chain.sent<msg::Inspected>(kParentLink)[0].bytes.view() == "own");
  const std::uint32_t node = chain.sent<msg::Inspected>(kParentLink)[0].node;
  chain.from(1, msg::Inspected{node + 1, true, Chunk(std::string("below"))});
  REQUIRE(chain.sent<msg::Inspected>(kParentLink).size() == 1);
  CHECK(chain.sent<msg::Inspected>(kParentLink)[0].bytes.view() == "below");
  SECTION("a child speaks for the nodes of its slice only") {
    chain.from(1, msg::Inspected{node, true, {}});
    CHECK(chain.closed(1));
  }
  SECTION("an answer that is too long is not passed on, and its link goes on") {
    const Chunk piece(std::string(1 << 20, 'x'));
    std::size_t passed = 0;
    for (int i = 0; i < 40; ++i) {
      chain.from(1, msg::Inspected{node + 1, false, piece});
      passed += chain.sent<msg::Inspected>(kParentLink).size();
      CHECK_FALSE(chain.closed(1));
    }
    CHECK(passed >= 3);
    CHECK(passed < 30);
  }
}

TEST_CASE("a child's report about its ranks without a question is dropped") {
  Chain chain;
  chain.launch();
  chain.from(1, msg::Inspected{2, true, Chunk(std::string("unasked"))});
  CHECK(chain.sent<msg::Inspected>(kParentLink).empty());
  CHECK_FALSE(chain.closed(1));
}

}  // namespace inspection_test
