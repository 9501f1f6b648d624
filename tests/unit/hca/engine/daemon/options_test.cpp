#include "hca/engine/daemon/options.h"

#include <catch2/catch.hpp>
#include <vector>

namespace options_test {

using namespace scela;
using namespace scela::hca;

namespace {
Result<Options> parse(const std::vector<std::string_view>& words) {
  return parse_options(words);
}
}  // namespace

TEST_CASE("the engine's options are read in both forms") {
  const auto none = parse({});
  REQUIRE(none);
  CHECK(none->action == Options::Action::serve);
  CHECK(none->socket.empty());
  CHECK_FALSE(none->until_idle);
  CHECK(none->ready_fd == -1);
  CHECK(none->fabric_fd == -1);
  for (const auto& words : {std::vector<std::string_view>{"--socket", "/a/b", "--until-idle",
                                                          "--ready-fd", "7", "--fabric-fd", "8"},
                            std::vector<std::string_view>{"--ready-fd=7", "--fabric-fd=8",
                                                          "--socket=/a/b", "--until-idle"}}) {
    const auto options = parse(words);
    REQUIRE(options);
    CHECK(options->socket == "/a/b");
    CHECK(options->until_idle);
    CHECK(options->ready_fd == 7);
    CHECK(options->fabric_fd == 8);
  }
  CHECK(parse({"--status"})->action == Options::Action::status);
  CHECK_FALSE(parse({"--status"})->json);
  CHECK(parse({"--json", "--status"})->json);
  CHECK(none->listen_fd == -1);
  CHECK(parse({"--listen-fd", "4"})->listen_fd == 4);
  CHECK(parse({"--trace", "/a"})->trace == "/a");
  CHECK(parse({"--trace=/a b"})->trace == "/a b");
  CHECK(parse({"-h"})->action == Options::Action::help);
  CHECK(parse({"--version", "--nonsense"})->action == Options::Action::version);
}

TEST_CASE("an unknown option of the engine is named") {
  for (const auto& words : {std::vector<std::string_view>{"--nonsense"},
                            {"socket"},
                            {"--socket"},
                            {"--socket="},
                            {"--ready-fd"},
                            {"--ready-fd", "x"},
                            {"--ready-fd", "1"},
                            {"--ready-fd=3x"},
                            {"--ready-fd=99999999999999"},
                            {"--fabric-fd"},
                            {"--fabric-fd=2"},
                            {"--listen-fd"},
                            {"--listen-fd=0"},
                            {"--listen-fd", "4", "--socket", "/a"},
                            {"--trace"},
                            {"--trace="},
                            {"--json"},
                            {"--until-idle=yes"}}) {
    const auto options = parse(words);
    REQUIRE_FALSE(options);
    CHECK(options.error().kind == ErrorKind::usage);
    CHECK(options.error().why.find(words[0].substr(0, words[0].find('='))) != std::string::npos);
  }
}

}  // namespace options_test
