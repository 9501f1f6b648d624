// Tests where the program of a node's PMIx server is looked for. Test programs carry no copy of it.
#include "nla/ranks/pmix_program.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "common/core/text.h"
#include "tests/support/temporary_home.h"

namespace pmix_program_test {

using namespace scela;
using namespace scela::nla;

namespace {

// Sets PATH while it lives.
class SearchPath {
 public:
  explicit SearchPath(const std::string& path) { ::setenv("PATH", path.c_str(), 1); }
  SearchPath(const SearchPath&) = delete;
  SearchPath& operator=(const SearchPath&) = delete;
  ~SearchPath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("PATH");
};

}  // namespace

TEST_CASE("the PMIx server is looked for in the agents' directory first, then in PATH") {
  const test::TemporaryHome home;
  for (const char* const name : {"agents/scela-pmix", "path/scela-pmix"}) {
    home.write(name, "#!/bin/sh\n");
    REQUIRE(::chmod(home.path(name).c_str(), 0700) == 0);
  }
  const SearchPath path(home.path("path"));
  NodeFacts node;
  const auto in_path = PmixProgram::find(node);
  REQUIRE(in_path);
  CHECK(in_path->name() == home.path("path/scela-pmix"));
  CHECK(in_path->runs_here());
  node.helper_directory = home.path("agents/");
  const auto beside = PmixProgram::find(node);
  REQUIRE(beside);
  CHECK_THAT(beside->name(), Catch::StartsWith(home.path("agents/")));
}

TEST_CASE("the error of a missing PMIx server names the places and what to install") {
  const test::TemporaryHome home;
  const SearchPath path(home.path());
  const auto missing = PmixProgram::find({});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::launch);
  CHECK_THAT(missing.error().text(), Catch::Contains("there is no scela-pmix on this node") &&
                                         Catch::Contains("in PATH") && Catch::Contains("libpmix2"));
}

}  // namespace pmix_program_test
