#include "common/core/error.h"

#include <catch2/catch.hpp>
#include <cerrno>

namespace error_test {

using namespace scela;

TEST_CASE("an error's text names place, attempt, cause and advice in that order") {
  const Error error{ErrorKind::io, "open 'x'", "node7", "No such file", "create it"};
  CHECK(error.text() == "node7: open 'x': No such file (create it)");
  CHECK(Error{ErrorKind::io, "open 'x'", "", "", ""}.text() == "open 'x'");
}

TEST_CASE("errno texts carry the symbolic name") {
  CHECK(errno_text(ENOENT) == "No such file or directory (ENOENT)");
  CHECK(errno_text(99999) == "error 99999");
}

}  // namespace error_test
