#include "nla/core/tree/remote_shell.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"

namespace remote_shell_test {

using namespace scela;
using namespace scela::nla;
using Kind = RemoteAnswer::Kind;

namespace {

std::vector<RemoteAnswer> answers(std::string_view text, std::size_t piece) {
  AnswerScanner scanner;
  std::vector<RemoteAnswer> out;
  while (!text.empty()) {
    std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    while (!part.empty()) {
      const auto answer = scanner.feed(part);
      REQUIRE(answer);
      if (*answer) out.push_back(**answer);
    }
  }
  return out;
}

RemoteAgent agent() {
  return {"/opt/scela/scela-nla", "abc123", {4096, "def456", "5ha", "b1a"}, true, true, "T0ken"};
}

}  // namespace

TEST_CASE("answers are found between the noise of shells, however it is cut") {
  const std::string text =
      cat("Welcome to node7!\r\nlast login: never", ready_line("b1"), "prompt> ",
          other_line("0.9", "b2"), "\x1b[0m", "\nSCELA-NLA refused it is Sunday\n",
          "SCELA-NLA ship x86_64\n", "SCELA-NLA nonsense\nxSCELA-NLA ready 1 b3\n",
          std::string(9000, 'y'), "\n", "SCELA-NLA ready 1 b4\r\n");
  const std::vector<RemoteAnswer> expected = {{Kind::ready, "b1"},
                                              {Kind::other, "0.9 b2"},
                                              {Kind::refused, "it is Sunday"},
                                              {Kind::ship, "x86_64"},
                                              {Kind::ready, "b4"}};
  for (const std::size_t piece : {1u, 2u, 7u, 64u, 100000u})
    CHECK(answers(text, piece) == expected);
}

TEST_CASE("bytes behind an answer are left to the next reader") {
  const std::string text = ready_line("b") + "frames";
  std::string_view rest = text;
  AnswerScanner scanner;
  REQUIRE(scanner.feed(rest).value());
  CHECK(rest == "frames");
}

TEST_CASE("a login that prints without end is refused, with its last line") {
  AnswerScanner scanner;
  const std::string line = "no such module\n";
  std::string all;
  while (all.size() <= AnswerScanner::kMaxNoise + line.size())
    all += line;
  std::string_view rest = all;
  const auto answer = scanner.feed(rest);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().why.find("last 'no such module'") != std::string::npos);
}

TEST_CASE("the command has nothing in it that a shell reads differently") {
  RemoteAgent one = agent();
  one.words = {"--job", "a b"};
  const auto command = remote_command(one, "node7");
  REQUIRE(command);
  const std::string installed =
      "\"test\" -x \"/opt/scela/scela-nla\" && exec \"/opt/scela/scela-nla\" --stdio "
      "--name \"node7\" --id abc123 \"--job\" \"a b\"; ";
  const std::string ship = "exec /bin/sh -c '";
  REQUIRE(command->starts_with(installed + ship));
  REQUIRE(command->ends_with("'"));
  const std::size_t before = installed.size() + ship.size();
  const std::string inner = command->substr(before, command->size() - before - 1);
  CHECK(inner.find_first_of("'\\!\n`") == std::string::npos);
  CHECK(inner.find("@") == std::string::npos);
  CHECK(inner.find("\"b1a \"*|\"5ha \"*) exec \"$a\" ") != std::string::npos);
  CHECK(inner.find("--name \"node7\"") != std::string::npos);
  // A shell that echoes its command is not an answer.
  CHECK(answers(*command + "\n", 1000).empty());
  CHECK(command->find("SCELA-NLA") == std::string::npos);
}

TEST_CASE("the cache is looked into and filled only if that is wanted") {
  const auto parts = [](bool look, bool store) {
    RemoteAgent one = agent();
    one.look_in_cache = look;
    one.store_in_cache = store;
    const std::string command = remote_command(one, "node7").value();
    CHECK(command.find("SCELA\"\"-NLA ship") != std::string::npos);
    return std::pair(command.find("--cached") != std::string::npos,
                     command.find("mkdir") != std::string::npos);
  };
  CHECK(parts(true, true) == std::pair(true, true));
  CHECK(parts(false, true) == std::pair(false, true));
  CHECK(parts(false, false) == std::pair(false, false));
}

TEST_CASE("without a package the command asks for one, but reads nothing") {
  RemoteAgent one = agent();
  one.package = {};
  const std::string command = remote_command(one, "node7").value();
  CHECK(command.ends_with("'echo; echo \"SCELA\"\"-NLA ship $(uname -m)\"'"));
}

TEST_CASE("text that cannot stand in the command is refused") {
  RemoteAgent odd = agent();
  odd.path = "/opt/$(reboot)/scela-nla";
  CHECK_FALSE(remote_command(odd, "a"));
  CHECK_FALSE(remote_command(agent(), "a'b"));
  CHECK_FALSE(remote_command(agent(), "a\"b"));
  CHECK(remote_command(agent(), "[fd00::101]:2222"));
  odd.path.clear();
  const auto ship = remote_command(odd, "a");
  REQUIRE(ship);
  CHECK(ship->starts_with("exec /bin/sh -c '"));  // all that some shells understand
}

}  // namespace remote_shell_test
