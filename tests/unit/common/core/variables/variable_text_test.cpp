#include "common/core/variables/variable_text.h"

#include <catch2/catch.hpp>

namespace variable_text_test {

using namespace scela;

TEST_CASE("the value of a variable is found by its whole name") {
  const std::vector<std::string> environment = {"PATHS=no", "PATH", "PATH=/bin:a=b", "PATH=second",
                                                "EMPTY="};
  CHECK(variable_value(environment, "PATH") == "/bin:a=b");
  CHECK(variable_value(environment, "PAT").empty());
  CHECK(variable_value(environment, "EMPTY").empty());
  CHECK(variable_name("PATH=/bin:a=b") == "PATH");
  CHECK(variable_name("PATH") == "PATH");
}

}  // namespace variable_text_test
