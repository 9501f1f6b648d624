#include "launcher/core/compat/line_gatherer.h"

#include <catch2/catch.hpp>

namespace line_gatherer_test {

using namespace scela;

namespace {

std::string gathered(std::initializer_list<const char*> lines, bool coalesces) {
  LineGatherer gatherer;
  for (const char* line : lines)
    gatherer.add(line);
  return gatherer.text(coalesces);
}

std::string header(const std::string& name) {
  return "----------------\n" + name + "\n----------------\n";
}

}  // namespace

TEST_CASE("lines of the same host stand together below its name") {
  CHECK(gathered({"b: 1", "a: 2", "  b: 3: 4", "b:", "no host here", ": x"}, false) ==
        header("b") + "1\n3: 4\n\n" + header("a") + "2\n");
  CHECK(gathered({}, false).empty());
}

TEST_CASE("hosts of the same text share a header only if they are coalesced") {
  CHECK(gathered({"n1: x", "n3: y", "n2: x"}, true) ==
        header("n[1-2]") + "x\n" + header("n3") + "y\n");
  CHECK(gathered({"n1: x", "n2: x"}, false) == header("n1") + "x\n" + header("n2") + "x\n");
}

}  // namespace line_gatherer_test
