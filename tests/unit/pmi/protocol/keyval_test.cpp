#include "pmi/protocol/keyval.h"

#include <catch2/catch.hpp>
#include <string>

#include "pmi/protocol/limits.h"

namespace scela::pmi::keyval_test {
namespace {

std::string flat(std::string_view text) {
  const auto line = parse_line(text);
  if (!line) return "error: " + line.error().why;
  std::string out;
  for (const auto& [key, value] : line->tuples()) {
    out.append("[").append(key).append("|").append(value).append("]");
  }
  return out;
}

TEST_CASE("a line is a list of tuples in any order with any spacing") {
  CHECK(flat("cmd=init pmi_version=1 pmi_subversion=1") ==
        "[cmd|init][pmi_version|1][pmi_subversion|1]");
  CHECK(flat("  pmi_version=1\t cmd=init   ") == "[pmi_version|1][cmd|init]");
  CHECK(flat("cmd=finalize\r") == "[cmd|finalize]");
  CHECK(flat("") == "");
  CHECK(flat("   ") == "");
}

TEST_CASE("a key may stand without a value and a value may hold equal signs") {
  CHECK(flat("endcmd") == "[endcmd|]");
  CHECK(flat("a b= c=d=e") == "[a|][b|][c|d=e]");
}

TEST_CASE("the value of a put keeps its spaces when it comes last") {
  CHECK(flat("cmd=put kvsname=k key=a value=x y=z  w") ==
        "[cmd|put][kvsname|k][key|a][value|x y=z  w]");
  CHECK(flat("cmd=put value=x kvsname=k key=a") == "[cmd|put][value|x][kvsname|k][key|a]");
  CHECK(flat("cmd=put kvsname=k key=a value=") == "[cmd|put][kvsname|k][key|a][value|]");
}

TEST_CASE("the message of an abort keeps its spaces when it comes last") {
  CHECK(flat("cmd=abort exitcode=7 message=out of luck") ==
        "[cmd|abort][exitcode|7][message|out of luck]");
  CHECK(flat("cmd=abort message=short exitcode=7") == "[cmd|abort][message|short][exitcode|7]");
}

TEST_CASE("of a repeated key the first counts") {
  CHECK(parse_line("cmd=a cmd=b")->find("cmd") == "a");
  CHECK_FALSE(parse_line("cmd=a")->find("key").has_value());
}

TEST_CASE("lines with control characters, without a key, or too long are refused") {
  CHECK(flat(std::string_view("cmd=a\0b", 7)) == "error: it holds a control character");
  CHECK(flat("cmd=a\x7f") == "error: it holds a control character");
  CHECK(flat("cmd=a =b") == "error: a value has no key");
  CHECK(flat(std::string(kMaxLine, 'x')) == "[" + std::string(kMaxLine, 'x') + "|]");
  const auto overlong = parse_line(std::string(kMaxLine + 1, 'x'));
  REQUIRE_FALSE(overlong);
  CHECK(overlong.error().kind == ErrorKind::protocol);
  CHECK(overlong.error().why == "the line is longer than 65536 bytes");
  CHECK(overlong.error().what.size() < 200);
}

TEST_CASE("numbers are whole or nothing") {
  CHECK(parse_int("7") == 7);
  CHECK(parse_int("-1") == -1);
  CHECK(parse_int("+2") == 2);
  for (const auto* wrong : {"", "+", "-", "++1", "+-1", "1x", " 1", "0x1", "99999999999"}) {
    INFO(wrong);
    CHECK_FALSE(parse_int(wrong).has_value());
  }
}

TEST_CASE("an answer is one line of words") {
  CHECK(LineWriter("put_result").add("rc", 0).text() == "cmd=put_result rc=0\n");
  CHECK(LineWriter("x").add("a", "b").add("n", -1).text() == "cmd=x a=b n=-1\n");
  CHECK(as_word("rank 3 has\nended") == "rank_3_has_ended");
  CHECK(as_word(std::string(500, 'a')).size() == 200);
}

TEST_CASE("an excerpt is short and printable") {
  CHECK(excerpt("cmd=put") == "cmd=put");
  CHECK(excerpt(std::string_view("a\0\xff", 3)) == "a\\x00\\xff");
  const std::string kept(80, 'a');
  CHECK(excerpt(std::string(100, 'a')) == kept + "...");
}

}  // namespace
}  // namespace scela::pmi::keyval_test
