// Tests the table of a job's processes as text.
#include "launcher/core/debug/process_table.h"

#include <catch2/catch.hpp>

namespace process_table_test {

using namespace scela;

TEST_CASE("a table of processes is read as it was written") {
  const std::vector<TableEntry> table = {{0, "n1", 17, "/opt/my program"}, {7, "n2", 4194304, "?"}};
  CHECK(table_text(table) == "0 n1 17 /opt/my program\n7 n2 4194304 ?\n");
  CHECK(parse_table(table_text(table)).value() == table);
  CHECK(parse_table("").value().empty());
}

TEST_CASE("an executable cannot make a line of its own, and one that is not known is a mark") {
  CHECK(table_text({{0, "n", 1, "/a\n1 n 2 /b"}, {1, "n", 2, ""}}) ==
        "0 n 1 /a?1 n 2 /b\n1 n 2 ?\n");
}

TEST_CASE("a line of another form is an error that shows it") {
  for (const char* line : {"x n 1 /a", "1 n x /a", "1 n 1", "1", "-1 n 1 /a", "1  1 /a"}) {
    const auto table = parse_table(line);
    REQUIRE_FALSE(table.has_value());
    CHECK(table.error().why.find(line) != std::string::npos);
  }
}

}  // namespace process_table_test
