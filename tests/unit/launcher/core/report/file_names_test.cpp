// Tests the names of the files of --output-dir.
#include "launcher/core/report/file_names.h"

#include <catch2/catch.hpp>

namespace file_names_test {

using namespace scela;

namespace {

const StreamParts kParts{"node7", 6, 12, 1000, "job1", "err"};

std::string refusal(std::string_view pattern, bool once_per_host = false) {
  const auto checked = check_file_pattern(pattern, once_per_host);
  return checked ? "" : checked.error().text();
}

}  // namespace

TEST_CASE("a pattern of file names stands for host, number, rank, job and stream") {
  CHECK(expand_file_pattern(kFileOfRank, kParts) == "rank.012.err");
  CHECK(expand_file_pattern(kFileOfHost, kParts) == "node7.err");
  CHECK(expand_file_pattern("%j-%n-%r-%%-%s.log", kParts) == "job1-6-012-%-err.log");
}

TEST_CASE("a pattern without the stream gets it at its end") {
  CHECK(expand_file_pattern("%r", kParts) == "012.err");
  CHECK(expand_file_pattern("%r%%s", kParts) == "012%s.err");
}

TEST_CASE("a pattern that would mix ranks is refused") {
  CHECK(refusal("%r").empty());
  CHECK(refusal("x%%r").find("share a file (add %r") != std::string::npos);
  CHECK(refusal("%h").find("share a file (add %r") != std::string::npos);
  for (const char* pattern : {"%h", "%n", "%r", "a%hb%s"})
    CHECK(refusal(pattern, true).empty());
  CHECK(refusal("%j.%s", true).find("share a file (add %h") != std::string::npos);
}

TEST_CASE("a pattern that is no name of a file is refused") {
  CHECK(refusal("a/%r").find("a name has no '/'") != std::string::npos);
  CHECK(refusal("%r%x").find("'%x' means nothing") != std::string::npos);
  CHECK(refusal("%r%").find("a '%' stands at its end") != std::string::npos);
}

}  // namespace file_names_test
