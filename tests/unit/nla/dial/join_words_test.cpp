#include "nla/dial/join_words.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "nla/dial/dial_hello.h"
#include "tests/support/temporary_home.h"

namespace join_words_test {

using namespace scela;
using namespace scela::nla;
using test::TemporaryHome;

namespace {

constexpr char kKey[] = "a key of sixteen bytes or more", kOther[] = "another key with many bytes";

std::string without_newline(std::string line) {
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  return line;
}

const JoinCall kCall{new_dial_secret(), new_dial_secret()};
const JoinRequest kRequest{"00ff", "w1.job.ns.svc", 4, new_dial_secret()};

}  // namespace

TEST_CASE("join words: both sides read what the other one says, and prove the key") {
  const auto call = parse_join_call(without_newline(format(kCall)));
  REQUIRE(call);
  CHECK(call->job == kCall.job);
  const auto request =
      parse_join_request(without_newline(format(kRequest, *call, kKey)), kCall, kKey);
  REQUIRE(request);
  CHECK(request->name == "w1.job.ns.svc");
  CHECK(request->slots == 4);
  CHECK(request->build == "00ff");
  CHECK(check_join_answer(without_newline(welcome_line(*request, kCall, kKey)), kRequest, *call,
                          kKey));
  CHECK(join_secret(kKey, call->job) == join_secret(kKey, kCall.job));
  CHECK(join_secret(kKey, call->job).size() == kDialSecretDigits);
}

TEST_CASE("join words: neither side takes a proof of another key") {
  const std::string line = without_newline(format(kRequest, kCall, kOther));
  const auto request = parse_join_request(line, kCall, kKey);
  REQUIRE_FALSE(request);
  CHECK(request.error().why == "its key is another one");
  const std::string welcome = without_newline(welcome_line(kRequest, kCall, kOther));
  const auto answer = check_join_answer(welcome, kRequest, kCall, kKey);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().why == "scela-run has another key");
  CHECK(join_secret(kOther, kCall.job) != join_secret(kKey, kCall.job));
}

TEST_CASE("join words: a line that was said before proves nothing to another call") {
  const std::string line = without_newline(format(kRequest, kCall, kKey));
  CHECK_FALSE(parse_join_request(line, {kCall.job, new_dial_secret()}, kKey));
  CHECK_FALSE(parse_join_request(line, {new_dial_secret(), kCall.challenge}, kKey));
  JoinRequest other = kRequest;
  other.challenge = new_dial_secret();
  const std::string welcome = without_newline(welcome_line(kRequest, kCall, kKey));
  CHECK_FALSE(check_join_answer(welcome, other, kCall, kKey));
}

TEST_CASE("join words: changed and damaged lines are refused") {
  std::string line = without_newline(format(kRequest, kCall, kKey));
  for (const std::size_t at :
       {std::size_t{6}, line.find("w1"), line.find(" 4 ") + 1, line.size() - 1}) {
    std::string changed = line;
    changed[at] = changed[at] == '5' ? '6' : '5';
    CHECK_FALSE(parse_join_request(changed, kCall, kKey));
  }
  for (const char* text : {"", "join", "join a b c d e f", "scela-join 1 a b", "\x01"}) {
    CHECK_FALSE(parse_join_request(text, kCall, kKey));
    CHECK_FALSE(parse_join_call(text));
    CHECK_FALSE(check_join_answer(text, kRequest, kCall, kKey));
  }
  JoinRequest bad = kRequest;
  bad.name = "n[1-9]";
  CHECK_FALSE(parse_join_request(without_newline(format(bad, kCall, kKey)), kCall, kKey));
  bad = kRequest;
  bad.slots = 0;
  CHECK_FALSE(parse_join_request(without_newline(format(bad, kCall, kKey)), kCall, kKey));
  const auto refused = check_join_answer("refused \x1b[2Jno", kRequest, kCall, kKey);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().why == "scela-run refuses: ?[2Jno");
  CHECK(refused.error().kind == ErrorKind::protocol);
}

TEST_CASE("join words: an agent that comes late is told so, and not that it is refused") {
  const auto late = check_join_answer(without_newline(late_line("no\x1b")), kRequest, kCall, kKey);
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::launch);
  CHECK(late.error().why == "no?");
}

TEST_CASE("join words: a key file is long enough, and of this user alone") {
  const TemporaryHome home;
  const auto read = [&](const std::string& text, mode_t mode) {
    home.write("key", text);
    ::chmod(home.path("key").c_str(), mode);
    return read_join_key(home.path("key"));
  };
  CHECK(read(cat(kKey, "\n"), 0600).value_or("") == kKey);
  CHECK(read(kKey, 0400));
  CHECK_FALSE(read(kKey, 0640));
  CHECK_FALSE(read(kKey, 0604));
  CHECK_FALSE(read("fifteen bytes..\n", 0600));
  CHECK(read("sixteen bytes...\n", 0600));
  CHECK_FALSE(read(std::string(4097, 'x'), 0600));
  CHECK_FALSE(read_join_key(home.path("nothing")));
  CHECK_FALSE(read_join_key("/dev/zero"));
}

}  // namespace join_words_test
