// Tests the text that scela-pmix writes about a resource manager.
#include "common/core/requests/resource_text.h"

#include <catch2/catch.hpp>
#include <string>

namespace scela {
namespace {

const ResourceAnswer kAnswer = {"m.0", "PMIX_QUERY_ALLOCATION", {{"a", 2}, {"b.c", std::nullopt}}};
const std::string kHead = "scela-pmix allocation 1\nserver m.0\nquery Q\n";

std::string why_not(const std::string& text) {
  const auto read = read_resource_answer(text);
  return read ? "it is read" : read.error().why;
}

TEST_CASE("an allocation is read as it was written") {
  const std::string text = text_of(kAnswer);
  CHECK(text ==
        "scela-pmix allocation 1\nserver m.0\nquery PMIX_QUERY_ALLOCATION\nhost a 2\nhost b.c -\n"
        "end\n");
  const auto read = read_resource_answer(text);
  REQUIRE(read);
  CHECK(*read == kAnswer);
}

TEST_CASE("an allocation that is cut anywhere is refused") {
  const std::string text = text_of(kAnswer);
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(read_resource_answer(text.substr(0, size)));
}

TEST_CASE("damaged lines of an allocation are refused by their number") {
  CHECK(why_not("scela-pmix allocation 2\nend\n") == "line 1 of it is not understood");
  for (const std::string line :
       {"host", "host a", "host a 0", "host a -1", "host a 4294967296", "host a 1 2", "host -a 1",
        "host a,b 1", "host  1", "hosts a 1", "server", "server a b", "", "end "})
    CHECK(why_not(kHead + line + "\nend\n") == "line 4 of it is not understood");
  CHECK(why_not(kHead + "host a 1\nhost a 2\nend\n") == "line 5 of it is not understood");
  CHECK(why_not(kHead + "end\nhost a 1\n") == "line 4 of it is not understood");
  CHECK(why_not("end\n") == "line 1 of it is not understood");
}

TEST_CASE("a line of a lost node is read as it was written, and no other") {
  const LostNode lost{"node-1.cluster", "PMIX_EVENT_NODE_DOWN"};
  CHECK(text_of(lost) == "lost node-1.cluster PMIX_EVENT_NODE_DOWN");
  CHECK(read_lost_node(text_of(lost)) == lost);
  for (const std::string line : {"", "lost", "lost a", "lost a ", "lost  b", "lost a b c",
                                 "found a b", "lost -a b", "lost a\tc b"})
    CHECK_FALSE(read_lost_node(line));
}

TEST_CASE("words of such lines are printable and bounded") {
  CHECK(is_resource_word(std::string(255, 'a')));
  CHECK_FALSE(is_resource_word(std::string(256, 'a')));
  for (const std::string text : {"", "-a", "a b", "a,b", "a\nb", "\x7f", "\xc3\xa9"})
    CHECK_FALSE(is_resource_word(text));
}

}  // namespace
}  // namespace scela
