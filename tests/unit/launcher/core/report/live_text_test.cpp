// Tests the text about hosts that have ended, which a terminal shows meanwhile.
#include "launcher/core/report/live_text.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace live_text_test {

using namespace scela;

TEST_CASE("the text counts the hosts that are done, and has a line for each group") {
  CHECK(live_text({}, 1, "host", {}) == "scela-run: 0 of 1 host done\n");
  CHECK(live_text({{"n4", 1, "other"}, {"n[1-3] (3)", 3, "same"}, {"n5", 1, "x\x1b[2Jy"}}, 9,
                  "host", {}) ==
        "scela-run: 5 of 9 hosts done\n  n[1-3] (3): same\n  n4: other\n  n5: x?[2Jy\n");
}

TEST_CASE("each line is shorter than the terminal is wide") {
  const std::string text = live_text({{"n1", 1, std::string(200, 'x')}}, 1000, "rank", {30, 24});
  std::size_t from = 0;
  for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    CHECK(end - from < 30);
  CHECK(text.ends_with("x...\n"));
}

TEST_CASE("the lines take at most half of the terminal") {
  std::vector<LiveGroup> groups;
  for (int i = 0; i < 20; ++i)
    groups.push_back({"n" + std::to_string(i), 1, "x"});
  const std::string text = live_text(groups, 20, "host", {80, 12});
  CHECK(std::count(text.begin(), text.end(), '\n') == 6);
  CHECK(text.ends_with("  n3: x\n  16 other outputs\n"));
  groups.resize(5);
  CHECK(live_text(groups, 20, "host", {80, 12}).ends_with("  n4: x\n"));
}

}  // namespace live_text_test
