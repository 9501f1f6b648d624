// Tests the variables SCELA_HCA_... and the warnings about those that have no effect.
#include "hca/core/wire/variables.h"

#include <catch2/catch.hpp>

namespace variables_test {

using namespace scela::hca;

TEST_CASE("hca variables: a switch is yes, 1, no, 0 or nothing, and nothing else") {
  for (const char* text : {"yes", "1"})
    CHECK(parse_switch(Variable::encrypt, text).value());
  for (const char* text : {"no", "0", ""})
    CHECK_FALSE(parse_switch(Variable::encrypt, text).value());
  for (const char* text : {"true", "Yes", "on", "2", " yes", "nope", "01"}) {
    CHECK(parse_switch(Variable::no_xrc, text).error().text().find("SCELA_HCA_NO_XRC") !=
          std::string::npos);
    const auto read = parse_switch(Variable::no_open_qp, text);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == scela::ErrorKind::usage);
    CHECK(read.error().text().find("SCELA_HCA_NO_OPEN_QP") != std::string::npos);
    CHECK(read.error().text().find(text) != std::string::npos);
  }
}

TEST_CASE("hca variables: an unknown name is reported, with the known ones") {
  for (const auto name : kVariables) {
    CHECK(unknown_variable(std::string(name) + "=1").empty());
    CHECK(unknown_variable(std::string(name)).empty());
    const std::string why = unknown_variable(std::string(name) + "S=1");
    CHECK(why.find(std::string(name) + "S means nothing") != std::string::npos);
    CHECK(why.find("SCELA_HCA_ENCRYPT, ") != std::string::npos);
  }
  for (const char* other : {"SCELA_HCA=/a", "SCELA_RANK=1", "HOME=/", "SCELA_HCAX=1", ""})
    CHECK(unknown_variable(other).empty());
}

TEST_CASE("hca variables: settings that repeat the engine's own are not reported") {
  const auto says = [](Variable variable, const char* here, const char* there) {
    return !without_effect(variable, here, mark_of(variable, there)).empty();
  };
  CHECK_FALSE(says(Variable::encrypt, "yes", "1"));
  CHECK_FALSE(says(Variable::encrypt, "no", ""));
  CHECK_FALSE(says(Variable::encrypt, "no", "yes"));
  CHECK(says(Variable::encrypt, "yes", "no"));
  CHECK(says(Variable::encrypt, "maybe", "yes"));
  CHECK_FALSE(says(Variable::strict, "7", "7"));
  CHECK_FALSE(says(Variable::strict, "0", ""));
  CHECK_FALSE(says(Variable::strict, "", "7"));
  CHECK(says(Variable::strict, "7", "8"));
  CHECK(says(Variable::strict, "0", "8"));
  CHECK(says(Variable::no_open_qp, "1", ""));
  CHECK(says(Variable::no_open_qp, "0", "yes"));
  CHECK(says(Variable::no_xrc, "1", ""));
  CHECK_FALSE(says(Variable::no_xrc, "yes", "1"));
  CHECK(says(Variable::faults, "ud-lost=1", ""));
  CHECK_FALSE(says(Variable::faults, "ud-lost=1", "ud-lost=1"));
  CHECK(says(Variable::trace, "/a", "/b"));
  const std::string text = without_effect(Variable::encrypt, "yes", 0);
  CHECK(text.find("SCELA_HCA_ENCRYPT=yes does nothing here") != std::string::npos);
  CHECK(text.find("without it") != std::string::npos);
  CHECK(text.find("scela-run") != std::string::npos);
  CHECK(without_effect(Variable::strict, "7", 8).find("with another") != std::string::npos);
}

}  // namespace variables_test
