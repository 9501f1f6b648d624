#include "pmi/protocol/pmi2/pmi2_wire.h"

#include <catch2/catch.hpp>
#include <string>

namespace scela::pmi::pmi2_wire_test {
namespace {

TEST_CASE("a length is padded on either side, as clients write it") {
  CHECK(parse_length("    42") == 42);
  CHECK(parse_length("42    ") == 42);
  CHECK(parse_length("  42  ") == 42);
  CHECK(parse_length("000042") == 42);
  CHECK(parse_length("999999") == 999999);
  for (const char* wrong : {"      ", "000000", "-1    ", "+1    ", "4 2   ", "0x10  ", "1.5   ",
                            "cmd=in", "\n    1"}) {
    INFO(wrong);
    CHECK_FALSE(parse_length(wrong));
  }
}

TEST_CASE("a message has a command and values in any order, the first of a key counts") {
  const auto message = parse_message("cmd=kvs-get;key=a;srcid=-1;empty=;key=b;odd= = ;");
  REQUIRE(message);
  CHECK(message->command() == "kvs-get");
  CHECK(message->find("key") == "a");
  CHECK(message->find("srcid") == "-1");
  CHECK(message->find("empty") == "");
  CHECK(message->find("odd") == " = ");
  CHECK_FALSE(message->find("value"));
}

TEST_CASE("a semicolon in a value is written twice") {
  const auto message = parse_message("cmd=kvs-put;key=a;;b;value=;;;;x;;;last=1;");
  REQUIRE(message);
  CHECK(message->find("key") == "a;b");
  CHECK(message->find("value") == ";;x;");
  CHECK(message->find("last") == "1");
}

TEST_CASE("a written message is read back") {
  const std::string text =
      Pmi2Writer("put").add("key", "a;b").add("value", ";").add("none", "").add("rc", -1).text();
  CHECK(text == "    38cmd=put;key=a;;b;value=;;;none=;rc=-1;");
  const auto message = parse_message(std::string_view(text).substr(kLengthField));
  REQUIRE(message);
  CHECK(parse_length(std::string_view(text).substr(0, kLengthField)) == text.size() - kLengthField);
  CHECK(message->find("key") == "a;b");
  CHECK(message->find("value") == ";");
  CHECK(message->find("none") == "");
  CHECK(message->find("rc") == "-1");
}

TEST_CASE("malformed messages are refused with the reason") {
  const auto why = [](std::string_view payload) {
    const auto message = parse_message(payload);
    REQUIRE_FALSE(message);
    return message.error().why;
  };
  CHECK(why("key=a;cmd=kvs-get;") == "it does not begin with cmd");
  CHECK(why("cmd=kvs-get;key") == "a key has no value");
  CHECK(why("cmd=kvs-get;key;value=1;") == "a key has no value");
  CHECK(why("cmd=kvs-get;=a;") == "a value has no key");
  CHECK(why("cmd=kvs-get;key=a") == "its last value has no end");
  CHECK(why("cmd=kvs-get;key=a;;") == "its last value has no end");
  CHECK(why(std::string_view("cmd=a\0b;", 8)) == "it holds a zero byte");
}

}  // namespace
}  // namespace scela::pmi::pmi2_wire_test
