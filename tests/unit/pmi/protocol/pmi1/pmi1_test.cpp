#include "pmi/protocol/pmi1/pmi1.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "pmi/protocol/limits.h"
#include "tests/unit/pmi/protocol/pmi1/pmi1_session.h"

namespace scela::pmi::pmi1_test {
namespace {

TEST_CASE("a rank of MPICH is served from init to finalize") {
  // Debian's mpich 4.0.2 was seen to send this sequence, node leader included.
  struct Step {
    std::string request;
    std::string asked;  // to the job; empty: no request
    ask::Response answer;
    std::string reply;
  };
  const std::string address(488, 'a');
  const std::vector<Step> steps{
      {"cmd=init pmi_version=1 pmi_subversion=1",
       "",
       {},
       "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0"},
      {"cmd=get_maxes", "", {}, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024"},
      {"cmd=get_appnum", "", {}, "cmd=appnum rc=0 appnum=2"},
      {"cmd=get_my_kvsname", "", {}, "cmd=my_kvsname rc=0 kvsname=kvs_0"},
      {"cmd=get kvsname=kvs_0 key=PMI_process_mapping",
       "",
       {},
       "cmd=get_result rc=0 msg=success found=TRUE value=(vector,(0,2,2))"},
      {"cmd=barrier_in", "fence 0-3 tag 0", {}, "cmd=barrier_out rc=0"},
      {"cmd=put kvsname=kvs_0 key=-bcast-1-0 value=" + address,
       "put -bcast-1-0=" + address,
       {},
       "cmd=put_result rc=0"},
      {"cmd=barrier_in", "fence 0-3 tag 0", {}, "cmd=barrier_out rc=0"},
      {"cmd=get kvsname=kvs_0 key=-bcast-1-0",
       "get -bcast-1-0",
       {.found = true, .parts = {Chunk(address)}},
       "cmd=get_result rc=0 msg=success found=TRUE value=" + address},
      {"cmd=put kvsname=kvs_0 key=-allgather-shm-1-1 value=" + address,
       "put -allgather-shm-1-1=" + address,
       {},
       "cmd=put_result rc=0"},
      {"cmd=barrier_in", "fence 0-3 tag 0", {}, "cmd=barrier_out rc=0"},
      {"cmd=barrier_in", "fence 0-3 tag 0", {}, "cmd=barrier_out rc=0"},
      {"cmd=finalize", "", {}, "cmd=finalize_ack rc=0"},
  };
  const auto piece = GENERATE(1U, 7U, 1U << 20);
  LockStep session(facts());
  CHECK_FALSE(session.unfinished());
  for (const Step& step : steps) {
    const std::string line = step.request + "\n";
    std::vector<std::string> asked;
    for (std::size_t at = 0; at < line.size(); at += piece) {
      CHECK(asked.empty());
      CHECK(session.take_output() == "");
      for (auto& one : feed(session, std::string_view(line).substr(at, piece)))
        asked.push_back(one);
    }
    if (!step.asked.empty()) {
      CHECK(asked == std::vector{step.asked});
      CHECK(session.take_output() == "");
      session.answer(step.answer);
    }
    CHECK(session.take_output() == step.reply + "\n");
    CHECK(session.unfinished() == (step.request != "cmd=finalize"));
  }
}

TEST_CASE("the universe size is answered as a command and as a key") {
  CHECK(answer_to("cmd=get_universe_size") == "cmd=universe_size rc=0 size=16\n");
  CHECK(answer_to("cmd=get kvsname=kvs_0 key=universeSize") ==
        "cmd=get_result rc=0 msg=success found=TRUE value=16\n");
}

TEST_CASE("init agrees on 1.2 for every version 1 and refuses the others") {
  LockStep session(facts());
  const auto say = [&](const std::string& version) {
    CHECK(feed(session, "cmd=init " + version + "\n").empty());
    return session.take_output();
  };
  CHECK(say("pmi_version=3 pmi_subversion=0") ==
        "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=-1 "
        "msg=only_PMI_1_and_2_are_spoken\n");
  CHECK_FALSE(session.unfinished());
  CHECK(say("pmi_subversion=2 pmi_version=1") ==
        "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n");
  CHECK(session.unfinished());
}

TEST_CASE("a get of an absent key is answered and is no error") {
  LockStep session = ready();
  CHECK(feed(session, "cmd=get kvsname=kvs_0 key=a\n") == std::vector<std::string>{"get a"});
  session.answer({});
  CHECK(session.take_output() == "cmd=get_result rc=1 msg=key_not_found\n");
  CHECK(answer_to("cmd=get kvsname=kvs_0 key=PMI_hwloc_xmlfile") ==
        "cmd=get_result rc=1 msg=key_not_found\n");
}

TEST_CASE("failed requests are answered with the reason as one word") {
  LockStep session = ready();
  CHECK(feed(session, "cmd=barrier_in\n").size() == 1);
  session.answer({.ok = false, .error = "rank 3 ended before the barrier"});
  CHECK(session.take_output() == "cmd=barrier_out rc=1 msg=rank_3_ended_before_the_barrier\n");
  CHECK(feed(session, "cmd=put kvsname=kvs_0 key=a value=b\n").size() == 1);
  session.answer({.ok = false, .error = "full"});
  CHECK(session.take_output() == "cmd=put_result rc=1 msg=full\n");
  CHECK(feed(session, "cmd=get kvsname=kvs_0 key=a\n").size() == 1);
  session.answer({.ok = false, .error = "gone"});
  CHECK(session.take_output() == "cmd=get_result rc=1 msg=gone\n");
}

TEST_CASE("a PMI-2 value that no PMI-1 line can carry is refused to PMI-1") {
  for (const std::string& value :
       {std::string("x\ncmd=barrier_out rc=0"), std::string("\x1b[0m"), std::string(1024, 'v')}) {
    LockStep session = ready();
    CHECK(feed(session, "cmd=get kvsname=kvs_0 key=k\n").size() == 1);
    session.answer({.found = true, .parts = {Chunk(value)}});
    const std::string answer = session.take_output();
    CHECK(answer.find("cmd=get_result rc=") == 0);
    CHECK(answer.find("msg=value_does_not_fit_pmi_1") != std::string::npos);
    CHECK(std::count(answer.begin(), answer.end(), '\n') == 1);
  }
}

TEST_CASE("put and get keep to the limits and to the job's own space") {
  const std::string key(kMaxKey - 1, 'k');
  const std::string value(kMaxValue - 1, 'v');
  LockStep session = ready();
  CHECK(feed(session, "cmd=put kvsname=kvs_0 key=" + key + " value=" + value + "\n") ==
        std::vector{"put " + key + "=" + value});
  CHECK(answer_to("cmd=put kvsname=kvs_0 key=" + key + "k value=b") ==
        "cmd=put_result rc=1 msg=key_too_long\n");
  CHECK(answer_to("cmd=put kvsname=kvs_0 key=a value=" + value + "v") ==
        "cmd=put_result rc=1 msg=value_too_long\n");
  CHECK(answer_to("cmd=put kvsname=kvs_0 key=PMI_mine value=b") ==
        "cmd=put_result rc=1 msg=reserved_key\n");
  CHECK(answer_to("cmd=put kvsname=other key=a value=b") ==
        "cmd=put_result rc=1 msg=no_such_kvsname\n");
  CHECK(answer_to("cmd=get kvsname=other key=a") == "cmd=get_result rc=1 msg=no_such_kvsname\n");
  CHECK(answer_to("cmd=get kvsname=kvs_0 key=" + key + "k") ==
        "cmd=get_result rc=1 msg=key_too_long\n");
}

TEST_CASE("a process mapping that does not fit is answered empty") {
  JobFacts huge = facts();
  huge.process_mapping = std::string(kMaxValue, '1');
  LockStep session(huge);
  CHECK(feed(session, kInit + "cmd=get kvsname=kvs_0 key=PMI_process_mapping\n").empty());
  CHECK(session.take_output() ==
        "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n"
        "cmd=get_result rc=0 msg=success found=TRUE value=\n");
}

TEST_CASE("commands that are not offered are answered so that their clients go on") {
  CHECK(answer_to("cmd=create_kvs") == "cmd=newkvs rc=1 msg=not_supported\n");
  CHECK(answer_to("cmd=destroy_kvs kvsname=kvs_0") == "cmd=kvs_destroyed rc=1 msg=not_supported\n");
  CHECK(answer_to("cmd=getbyidx kvsname=kvs_0 idx=0") ==
        "cmd=getbyidx_results rc=1 msg=not_supported\n");
  CHECK(answer_to("cmd=dance now") == "cmd=dance_result rc=-1 msg=unknown_command\n");
}

TEST_CASE("pipelined requests are served in order, one at a time") {
  LockStep session(facts());
  const std::string all = kInit +
                          "cmd=put kvsname=kvs_0 key=a value=1\n"
                          "cmd=get_appnum\n"
                          "cmd=barrier_in\n"
                          "cmd=get kvsname=kvs_0 key=a\n"
                          "cmd=finalize\n";
  CHECK(feed(session, all) == std::vector<std::string>{"put a=1"});
  CHECK(session.take_output() == "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n");
  session.answer({});
  CHECK(feed(session, "") == std::vector<std::string>{"fence 0-3 tag 0"});
  CHECK(session.take_output() == "cmd=put_result rc=0\ncmd=appnum rc=0 appnum=2\n");
  CHECK(feed(session, "") == std::vector<std::string>{});
  session.answer({});
  CHECK(feed(session, "") == std::vector<std::string>{"get a"});
  session.answer({.found = true, .parts = {Chunk("1")}});
  CHECK(feed(session, "").empty());
  CHECK(session.take_output() ==
        "cmd=barrier_out rc=0\n"
        "cmd=get_result rc=0 msg=success found=TRUE value=1\n"
        "cmd=finalize_ack rc=0\n");
}

TEST_CASE("an answer without a waiting request is ignored") {
  LockStep session = ready();
  session.answer({.found = true, .parts = {Chunk("1")}});
  CHECK(session.take_output() == "");
  CHECK(answer_to("cmd=get_appnum") == "cmd=appnum rc=0 appnum=2\n");
}

TEST_CASE("abort is accepted in every state and ends the session") {
  const std::string line = "cmd=abort exitcode=7 message=out of luck\ncmd=get_maxes\n";
  const std::vector<std::string> expected{"abort 7 out of luck"};
  LockStep early(facts());
  CHECK(feed(early, line) == expected);
  LockStep session = ready();
  CHECK(feed(session, line) == expected);
  CHECK(session.take_output() == "");
  LockStep late = ready();
  CHECK(feed(late, "cmd=finalize\n" + line) == expected);
  LockStep bare = ready();
  CHECK(feed(bare, "cmd=abort\n") == std::vector<std::string>{"abort 1 "});
}

TEST_CASE("an abort does not wait for the answer of another request, other lines do") {
  const std::string request = GENERATE("cmd=barrier_in\n", "cmd=get kvsname=kvs_0 key=k\n",
                                       "cmd=put kvsname=kvs_0 key=k value=1\n");
  LockStep session = ready();
  REQUIRE(feed(session, request).size() == 1);
  // Three texts do not stop the session: another command, abort in a value, and an abort without
  // the end of its line.
  CHECK(feed(session, "cmd=get_maxes\n=\ncmd=put kvsname=kvs_0 key=k value=x cmd=abort\n").empty());
  CHECK(feed(session, "cmd=abort exitcode=7 mess").empty());
  CHECK(session.take_output().empty());
  CHECK(feed(session, "age=stuck\ncmd=finalize\n") == std::vector<std::string>{"abort 7 stuck"});
  session.answer({});
  CHECK(feed(session, "cmd=get_maxes\n").empty());
  CHECK(session.take_output().empty());
}

TEST_CASE("lines kept while a request waits are served whether or not they were looked through") {
  LockStep session = ready();
  REQUIRE(feed(session, "cmd=barrier_in\n").size() == 1);
  REQUIRE(feed(session, "cmd=barrier_in\ncmd=put kvsname=kvs_0 key=k value=abort\ncmd=ab").empty());
  session.answer({});
  CHECK(name_of(*session.next()) == "fence 0-3 tag 0");
  REQUIRE_FALSE(session.next());
  session.answer({});
  CHECK(name_of(*session.next()) == "put k=abort");
  CHECK(feed(session, "ort exitcode=3\n") == std::vector<std::string>{"abort 3 "});
}

TEST_CASE("commands in the wrong state are violations that name the command") {
  CHECK(violation_of(LockStep(facts()), "cmd=barrier_in\n") ==
        "violation: PMI-1: the rank sent \"cmd=barrier_in\" before init");
  CHECK(violation_of(LockStep(facts()), "mcmd=spawn\n") ==
        "violation: PMI-1: the rank sent \"mcmd=spawn\" before init");
  LockStep twice = ready();
  CHECK(
      violation_of(std::move(twice), "cmd=init pmi_version=1 pmi_subversion=1\n") ==
      "violation: PMI-1: the rank sent \"cmd=init pmi_version=1 pmi_subversion=1\" a second time");
  LockStep late = ready();
  CHECK(feed(late, "cmd=finalize\n").empty());
  late.take_output();
  CHECK(violation_of(std::move(late), "cmd=barrier_in\n") ==
        "violation: PMI-1: the rank sent \"cmd=barrier_in\" after finalize");
}

TEST_CASE("a second init after finalize is that program's error, not the job's end") {
  LockStep session = ready();
  CHECK(feed(session, "cmd=finalize\n").empty());
  session.take_output();
  CHECK(feed(session, "cmd=init pmi_version=1 pmi_subversion=1\n").empty());
  CHECK(session.take_output() == "cmd=response_to_init rc=-1 msg=already_finalized\n");
}

TEST_CASE("a put of nothing, as MPICH 4.0 sends it once it has a launcher, is answered") {
  CHECK(answer_to("cmd=put kvsname=kvs_0 key= value=") == "cmd=put_result rc=0\n");
}

TEST_CASE("malformed requests are violations that quote the line") {
  CHECK(violation_of(ready(), "kvsname=kvs_0\n") ==
        "violation: PMI-1: the rank sent a line without a command: \"kvsname=kvs_0\"");
  CHECK(violation_of(ready(), "cmd=\n") ==
        "violation: PMI-1: the rank sent a line without a command: \"cmd=\"");
  CHECK(violation_of(ready(), "cmd=put kvsname=kvs_0 key=a\n") ==
        "violation: PMI-1: the rank sent a put without kvsname, key or value: "
        "\"cmd=put kvsname=kvs_0 key=a\"");
  CHECK(violation_of(ready(), "cmd=put kvsname=kvs_0 key= value=1\n") ==
        "violation: PMI-1: the rank sent a put without kvsname, key or value: "
        "\"cmd=put kvsname=kvs_0 key= value=1\"");
  CHECK(violation_of(ready(), "cmd=get key=a\n") ==
        "violation: PMI-1: the rank sent a get without kvsname or key: \"cmd=get key=a\"");
  CHECK(violation_of(LockStep(facts()), "cmd=init\n") ==
        "violation: PMI-1: the rank sent init without a version: \"cmd=init\"");
  CHECK(violation_of(ready(), "\x01\x02\n") ==
        "violation: PMI-1: the rank sent a malformed line \"\\x01\\x02\": it holds a control "
        "character");
}

TEST_CASE("a line without end breaks the session at its bound, not before") {
  LockStep session = ready();
  CHECK(feed(session, "cmd=" + std::string(kMaxLine - 4, 'x')).empty());
  CHECK(violation_of(std::move(session), "x") ==
        "violation: PMI-1: the rank sent a line longer than 65536 bytes: \"cmd=" +
            std::string(76, 'x') + "...\"");
}

TEST_CASE("a client that never waits for its answers is cut off at the bound") {
  LockStep session = ready();
  CHECK(feed(session, "cmd=barrier_in\n") == std::vector<std::string>{"fence 0-3 tag 0"});
  const std::string line = "cmd=get_maxes\n";
  std::vector<std::string> asked;
  std::size_t sent = 0;
  while (asked.empty() && sent < 2 * kMaxBacklog) {
    asked = feed(session, line);
    sent += line.size();
  }
  CHECK(asked == std::vector<std::string>{
                     "violation: PMI-1: the rank sent more than 65536 bytes without waiting for an "
                     "answer"});
  CHECK(sent > kMaxBacklog);
  session.answer({});
  CHECK(session.take_output() == "");
}

TEST_CASE("a line cut short asks nothing and answers nothing") {
  for (const std::string_view line :
       {"cmd=get_maxes\n", "cmd=barrier_in\n", "cmd=put kvsname=kvs_0 key=a value=b\n",
        "cmd=finalize\n", "cmd=abort exitcode=7\n", "=\n"}) {
    for (std::size_t length = 0; length < line.size(); ++length) {
      LockStep session = ready();
      CHECK(feed(session, line.substr(0, length)).empty());
      CHECK(session.take_output() == "");
      CHECK(session.unfinished());
    }
  }
}

TEST_CASE("a truncated line that is then ended never stops the session from being defined") {
  // Each prefix of a put ends early. The session must refuse or answer it, ask the job, or report a
  // violation.
  const std::string line = "cmd=put kvsname=kvs_0 key=a value=b";
  for (std::size_t length = 1; length <= line.size(); ++length) {
    LockStep session = ready();
    const auto asked = feed(session, line.substr(0, length) + "\n");
    const bool answered = !session.take_output().empty();
    INFO(line.substr(0, length));
    CHECK(asked.size() + (answered ? 1 : 0) == 1);
  }
}

TEST_CASE("blank lines are passed over") {
  LockStep session = ready();
  CHECK(feed(session, "\n  \n\ncmd=get_appnum\n").empty());
  CHECK(session.take_output() == "cmd=appnum rc=0 appnum=2\n");
}

TEST_CASE("a client that chooses PMI-2 is handed over with all that it has sent since") {
  LockStep session(facts());
  CHECK(feed(session, "cmd=init pmi_version=2 pmi_subversion=0\n    13cmd=").empty());
  CHECK(session.take_output() == "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
  CHECK(session.handed_over() == "    13cmd=");
  CHECK_FALSE(session.handed_over());
  CHECK(feed(session, "cmd=get_maxes\n").empty());
  CHECK(session.take_output() == "");
}

}  // namespace
}  // namespace scela::pmi::pmi1_test
