#include "pmi/protocol/greeting.h"

#include <catch2/catch.hpp>
#include <string>

#include "pmi/protocol/native_ints.h"

namespace scela::pmi::greeting_test {
namespace {

std::string ints(std::initializer_list<std::int32_t> values) {
  std::string out;
  for (const std::int32_t value : values)
    append_int(out, value);
  return out;
}

// Returns what the greeting means in a job of four ranks, of which rank 1 has checked in.
std::string meaning(Dialect dialect, const std::string& bytes, bool ended = false) {
  const auto meant = read_greeting(dialect, bytes, ended, 4, [](Rank rank) { return rank == 1; });
  if (!meant) return "more";
  if (const auto* hello = std::get_if<greeting::Hello>(&*meant)) {
    return "hello " + std::to_string(hello->rank) + " then '" + bytes.substr(hello->used) + "'";
  }
  if (const auto* abort = std::get_if<greeting::Abort>(&*meant)) {
    return "abort " + std::to_string(abort->rank) + " " + std::to_string(abort->code) + " '" +
           abort->message + "'";
  }
  if (const auto* again = std::get_if<greeting::RepeatedHello>(&*meant)) {
    return "again " + std::to_string(again->rank);
  }
  return std::get<greeting::Malformed>(*meant).why;
}

TEST_CASE("PMI_PORT: a client says its number in a line, as MPICH does") {
  const std::string line = "cmd=initack pmiid=2\n";
  for (std::size_t length = 0; length < line.size(); ++length)
    CHECK(meaning(Dialect::pmi1, line.substr(0, length)) == "more");
  CHECK(meaning(Dialect::pmi1, line) == "hello 2 then ''");
  CHECK(meaning(Dialect::pmi1, line + "cmd=init pmi_v") == "hello 2 then 'cmd=init pmi_v'");
  CHECK(meaning(Dialect::pmi1, "cmd=initack pmiid=1\n") == "again 1");
}

TEST_CASE("PMI_PORT: four lines answer it") {
  CHECK(initack_answer({.rank = 2, .size = 4}) ==
        "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=2\ncmd=set debug=0\n");
}

TEST_CASE("PMI_PORT: a malformed line is refused") {
  const auto is_nonsense = [](const std::string& bytes, bool ended = false) {
    return meaning(Dialect::pmi1, bytes, ended).starts_with("sent ");
  };
  CHECK(is_nonsense("cmd=init pmi_version=1 pmi_subversion=1\n"));
  CHECK(is_nonsense("cmd=initack\n"));
  CHECK(is_nonsense("cmd=initack pmiid=4\n"));
  CHECK(is_nonsense("cmd=initack pmiid=-1\n"));
  CHECK(is_nonsense("cmd=initack pmiid=2x\n"));
  CHECK(is_nonsense("\x01\x02\n"));
  CHECK(is_nonsense("cmd=initack pmiid=2", true));
  CHECK(is_nonsense("", true));
  CHECK(is_nonsense(std::string(kMaxGreeting, 'x')));
}

TEST_CASE("PMGR: a client says version and rank") {
  const std::string hello = ints({8, 2});
  for (std::size_t length = 0; length < hello.size(); ++length)
    CHECK(meaning(Dialect::pmgr, hello.substr(0, length)) == "more");
  CHECK(meaning(Dialect::pmgr, hello) == "hello 2 then ''");
  CHECK(meaning(Dialect::pmgr, hello + "abc") == "hello 2 then 'abc'");
  CHECK(meaning(Dialect::mvapich1, ints({5, 2})) == "hello 2 then ''");
}

TEST_CASE("PMGR: an abort comes with a code, a rank and a message") {
  const std::string abort = ints({7, 1, 6}) + std::string("sorry\0", 6);
  for (std::size_t length = 0; length < abort.size(); ++length)
    CHECK(meaning(Dialect::pmgr, abort.substr(0, length)) == "more");
  CHECK(meaning(Dialect::pmgr, abort) == "abort 1 7 'sorry'");
  CHECK(meaning(Dialect::pmgr, abort.substr(0, 14), true) == "abort 1 7 'so'");
  CHECK(meaning(Dialect::pmgr, ints({7, 2, 0})) == "abort 2 7 ''");
  CHECK(meaning(Dialect::mvapich1, ints({-1, 1}), true) == "abort 1 -1 ''");
}

TEST_CASE("PMGR: an abort with a code that looks like a version is told from a greeting") {
  CHECK(meaning(Dialect::pmgr, ints({8, 1})) == "more");
  CHECK(meaning(Dialect::pmgr, ints({8, 1, 3}) + std::string("no\0", 3)) == "abort 1 8 'no'");
  CHECK(meaning(Dialect::pmgr, ints({8, 1}), true) == "again 1");
  CHECK(meaning(Dialect::mvapich1, ints({8, 1}), true) == "abort 1 8 ''");
  // A later byte from a second client of the same rank is not read as a message.
  CHECK(meaning(Dialect::pmgr, ints({8, 1, 3}), true) == "again 1");
}

TEST_CASE("PMGR: numbers that cannot be are nonsense") {
  CHECK(meaning(Dialect::pmgr, ints({8, 4})) == "sent the number 4, there are 4 ranks");
  CHECK(meaning(Dialect::pmgr, ints({8, -1})) == "sent the number -1, there are 4 ranks");
  CHECK(meaning(Dialect::pmgr, ints({7, 1, -1})) == "sent an abort with a message of -1 bytes");
  CHECK(meaning(Dialect::pmgr, ints({7, 1, 5000})) == "sent an abort with a message of 5000 bytes");
  CHECK(meaning(Dialect::pmgr, "abc", true) == "sent 3 bytes and no rank");
}

}  // namespace
}  // namespace scela::pmi::greeting_test
