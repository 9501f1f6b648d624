// Tests the report on the stacks of a job.
#include "launcher/core/debug/stack_report.h"

#include <catch2/catch.hpp>

namespace stack_report_test {

using namespace scela;

TEST_CASE("each stack is shown once, that of most ranks first, and silent ranks are named") {
  CHECK(stack_report({{RankSet::single(2), "#0  alone ()\n"},
                      {RankSet::run(5, 3), "#0  f ()\n#1  main ()\n"}},
                     RankSet::run(9, 2)) ==
        "scela-run: the stacks of 6 ranks:\n"
        "ranks 5-7:\n"
        "  #0  f ()\n"
        "  #1  main ()\n"
        "rank 2:\n"
        "  #0  alone ()\n"
        "ranks 9-10:\n"
        "  no stack: the node has not answered\n");
}

TEST_CASE("a terminal obeys nothing in a stack") {
  const std::string text = stack_report({{RankSet::single(0), "#0  \x1b[2J\n"}}, {});
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a job without ranks has no stacks") {
  CHECK(stack_report({}, {}) == "scela-run: no rank runs, so there are no stacks\n");
}

}  // namespace stack_report_test
