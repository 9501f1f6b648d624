// Tests the lines in which agents send what each rank has used.
#include "nla/ranks/rank_usage.h"

#include <catch2/catch.hpp>

namespace rank_usage_test {

using namespace scela;
using namespace scela::nla;

TEST_CASE("the usage of a rank comes back from its line") {
  rusage used{};
  used.ru_utime = {1, 250'000};
  used.ru_stime = {0, 40};
  used.ru_maxrss = 2048;
  const RankUsage usage = usage_of(7, 2'000'500'999, used);
  CHECK(usage == RankUsage{7, 2'000'500, 1'250'000, 40, 2048});
  const std::string line = usage_line(usage);
  CHECK(line == "usage 7 2000500 1250000 40 2048\n");
  CHECK(parse_usage(line.substr(0, line.size() - 1)) == usage);
}

TEST_CASE("a line of another form is no usage") {
  for (const char* line : {"", "usage", "usage 1 2 3 4", "usage 1 2 3 4 5 6", "usage 1 2 3 4 5 ",
                           "usage  1 2 3 4 5", "usage -1 2 3 4 5", "used 1 2 3 4 5",
                           "usage 4294967296 2 3 4 5", "usage 1 2 3 4 18446744073709551616"})
    CHECK_FALSE(parse_usage(line));
}

}  // namespace rank_usage_test
