#include "launcher/core/options/option_values.h"

#include <catch2/catch.hpp>

namespace option_values_test {

using namespace scela;
using namespace std::chrono_literals;

TEST_CASE("a number is digits within its limits and nothing else") {
  CHECK(parse_number("1", 1, 10) == 1u);
  CHECK(parse_number("10", 1, 10) == 10u);
  CHECK(parse_number("007", 1, 10) == 7u);
  for (const char* bad : {"0", "11", "-3", "99999999999999999999999"}) {
    INFO(bad);
    const auto parsed = parse_number(bad, 1, 10);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind == ErrorKind::usage);
    CHECK(parsed.error().why == std::string("'") + bad + "' is out of range");
    CHECK(parsed.error().hint == "give a number from 1 to 10");
  }
  for (const char* bad : {"", " 1", "1 ", "+1", "1.5", "0x1", "two", "-", "1-2"}) {
    INFO(bad);
    const auto parsed = parse_number(bad, 1, 10);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().why == std::string("'") + bad + "' is not a number");
  }
}

TEST_CASE("a duration is seconds unless a unit follows") {
  CHECK(parse_duration("90") == 90'000ms);
  CHECK(parse_duration("1.5") == 1'500ms);
  CHECK(parse_duration(".25") == 250ms);
  CHECK(parse_duration("0") == 0ms);
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("3s") == 3'000ms);
  CHECK(parse_duration("2m") == 120'000ms);
  CHECK(parse_duration("1h") == 3'600'000ms);
  CHECK(parse_duration("1.5h") == 5'400'000ms);
  CHECK(parse_duration("0.1") == 100ms);
}

TEST_CASE("a text that is no duration is refused, however long it is") {
  for (const char* bad : {"", ".", "s", "-1", "1.5.2", "1e3", "2 m", "5d", "ten", "99999999999"}) {
    INFO(bad);
    const auto parsed = parse_duration(bad);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().why == std::string("'") + bad + "' is not a time");
  }
  CHECK(parse_duration("8760h"));
  REQUIRE_FALSE(parse_duration("8761h"));
  CHECK(parse_duration("999999999h").error().why == "'999999999h' is more than a year");
}

TEST_CASE("variables, inheritance and standard input have their own syntax") {
  CHECK(parse_env_variable("A=b=c") == EnvVariable{"A", "b=c"});
  CHECK(parse_env_variable("A=") == EnvVariable{"A", ""});
  CHECK_FALSE(parse_env_variable("A"));
  CHECK_FALSE(parse_env_variable("=b"));
  CHECK(parse_env_pass("all") == EnvPass{EnvPass::Kind::all, {}});
  CHECK(parse_env_pass("none") == EnvPass{EnvPass::Kind::none, {}});
  CHECK(parse_env_pass("A, B,,C") == EnvPass{EnvPass::Kind::names, {"A", "B", "C"}});
  CHECK_FALSE(parse_env_pass("A=1"));
  CHECK_FALSE(parse_env_pass(","));
  CHECK(parse_stdin("all") == StdinTarget{StdinTarget::Kind::all, 0});
  CHECK(parse_stdin("none") == StdinTarget{StdinTarget::Kind::none, 0});
  CHECK(parse_stdin("7") == StdinTarget{StdinTarget::Kind::rank, 7});
  CHECK_FALSE(parse_stdin("first"));
}

}  // namespace option_values_test
