// Tests the requests of a PMI-1 session that concern more than its own node: spawn, names, failures
// and groups.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi1/pmi1.h"
#include "tests/unit/pmi/protocol/pmi1/pmi1_session.h"

namespace scela::pmi::pmi1_job_test {
namespace {

// Returns a block as MPICH's client writes it. `lines` comes besides what every block has.
std::string spawn_block(int number, int blocks, const std::string& lines) {
  return "mcmd=spawn\nnprocs=2\nexecname=./a b\ntotspawns=" + std::to_string(blocks) +
         "\nspawnssofar=" + std::to_string(number) + "\n" + lines + "endcmd\n";
}

TEST_CASE("a spawn request is read to the end of its last block and answered once") {
  LockStep session = ready();
  CHECK(feed(session, spawn_block(1, 2,
                                  "argcnt=2\narg1=cmd=finalize\narg2=c  d\npreput_num=1\n"
                                  "preput_key_0=k\npreput_val_0=a=b c\ninfo_num=0\n"))
            .empty());
  CHECK(session.take_output() == "");
  CHECK(feed(session, spawn_block(2, 2,
                                  "argcnt=0\npreput_num=0\ninfo_num=2\ninfo_key_0=wdir\n"
                                  "info_val_0=/a b\ninfo_key_1=x\ninfo_val_1=\n") +
                          "cmd=get_appnum\n") ==
        std::vector<std::string>{
            "2 of [./a b][cmd=finalize][c  d]; 2 of [./a b] wdir=/a b x=; k=a=b c"});
  session.answer({.parts = {Chunk("kvs_0.1")}});
  CHECK(feed(session, "").empty());
  CHECK(session.take_output() ==
        "cmd=spawn_result rc=0 errcodes=0,0,0,0\ncmd=appnum rc=0 appnum=2\n");
  CHECK(feed(session, spawn_block(1, 1, "")) == std::vector<std::string>{"2 of [./a b]"});
  session.answer({.ok = false, .error = "no such program", .parts = {Chunk("0,1")}});
  CHECK(session.take_output() == "cmd=spawn_result rc=1 msg=no_such_program errcodes=0,1\n");
  CHECK(feed(session, spawn_block(1, 1, "")) == std::vector<std::string>{"2 of [./a b]"});
  session.answer({.ok = false, .error = "the job is being ended"});
  CHECK(session.take_output() == "cmd=spawn_result rc=1 msg=the_job_is_being_ended\n");
}

TEST_CASE("a spawn request that lacks something is refused where its answer is waited for") {
  const auto refusal = [](const std::string& lines) {
    LockStep session = ready();
    CHECK(feed(session, lines).empty());
    return session.take_output();
  };
  const std::string head = "cmd=spawn_result rc=1 msg=";
  CHECK(refusal("mcmd=spawn\nexecname=a\nendcmd\n") == head + "nprocs_is_not_positive\n");
  CHECK(refusal("mcmd=spawn\nnprocs=-1\nexecname=a\nendcmd\n") ==
        head + "nprocs_is_not_positive\n");
  CHECK(refusal("mcmd=spawn\nnprocs=1\nendcmd\n") == head + "no_execname\n");
  CHECK(refusal(spawn_block(1, 1, "argcnt=2\narg1=a\n")) == head + "an_argument_is_missing\n");
  CHECK(refusal(spawn_block(1, 1, "argcnt=x\n")) == head + "a_count_is_no_number\n");
  CHECK(refusal(spawn_block(1, 1, "info_num=1\ninfo_key_0=k\n")) == head + "an_info_is_missing\n");
  CHECK(refusal(spawn_block(1, 1, "preput_num=1\n")) == head + "a_preput_is_missing\n");
  CHECK(refusal(spawn_block(
            1, 1, "preput_num=1\npreput_key_0=" + std::string(64, 'k') + "\npreput_val_0=v\n")) ==
        head + "preput_key_too_long\n");
  CHECK(refusal(spawn_block(
            1, 1, "preput_num=1\npreput_key_0=k\npreput_val_0=" + std::string(1024, 'v') + "\n")) ==
        head + "preput_value_too_long\n");
  // The session reports the fault of the first block after the last block.
  CHECK(refusal(spawn_block(1, 2, "argcnt=1\n") + spawn_block(2, 2, "preput_num=1\n")) ==
        head + "an_argument_is_missing\n");
}

TEST_CASE("so many errcodes that clients have no room for them are left out") {
  LockStep session = ready();
  CHECK(feed(session, "mcmd=spawn\nnprocs=500\nexecname=a\nendcmd\n").size() == 1);
  session.answer({.parts = {Chunk("kvs_0.1")}});
  CHECK(session.take_output() == "cmd=spawn_result rc=0\n");
}

TEST_CASE("a spawn request without end breaks the session at its bound") {
  LockStep session = ready();
  CHECK(feed(session, "mcmd=spawn\n").empty());
  const std::string line = "arg1=" + std::string(8000, 'a') + "\n";
  std::vector<std::string> asked;
  for (std::size_t sent = 0; sent <= kMaxSpawnBlock && asked.empty(); sent += line.size() - 1) {
    asked = feed(session, line);
  }
  CHECK(asked == std::vector<std::string>{
                     "violation: PMI-1: the rank sent a spawn request longer than 1048576 bytes"});
}

TEST_CASE("names are published, looked up and unpublished by the job") {
  LockStep session = ready();
  CHECK(feed(session, "cmd=publish_name service=s port=p#1$x\n") ==
        std::vector<std::string>{"publish s=p#1$x"});
  session.answer({});
  CHECK(session.take_output() == "cmd=publish_result rc=0\n");
  CHECK(feed(session, "cmd=lookup_name service=s\n") == std::vector<std::string>{"lookup s"});
  session.answer({.parts = {Chunk("p#1$x")}});
  CHECK(session.take_output() == "cmd=lookup_result rc=0 port=p#1$x\n");
  CHECK(feed(session, "cmd=unpublish_name service=s\n") == std::vector<std::string>{"unpublish s"});
  session.answer({});
  CHECK(session.take_output() == "cmd=unpublish_result rc=0\n");
  const ask::Response refused{.ok = false, .error = "it is not published"};
  for (const auto& [command, name] : {std::pair{"publish_name port=p", "publish"},
                                      {"lookup_name", "lookup"},
                                      {"unpublish_name", "unpublish"}}) {
    CHECK(feed(session, "cmd=" + std::string(command) + " service=s\n").size() == 1);
    session.answer(refused);
    CHECK(session.take_output() ==
          "cmd=" + std::string(name) + "_result rc=1 msg=it_is_not_published\n");
    const std::string longest(kMaxValue, 'n');
    CHECK(answer_to("cmd=" + std::string(command) + " service=" + longest) ==
          "cmd=" + std::string(name) + "_result rc=1 msg=service_too_long\n");
    CHECK_THAT(violation_of(ready(), "cmd=" + std::string(command) + "\n"),
               Catch::Contains("without service"));
  }
  CHECK(answer_to("cmd=publish_name service=s port=" + std::string(kMaxValue, 'p')) ==
        "cmd=publish_result rc=1 msg=port_too_long\n");
}

TEST_CASE("the ranks that have failed are the value of a key") {
  LockStep session = ready();
  CHECK(feed(session, "cmd=get kvsname=kvs_0 key=PMI_dead_processes\n") ==
        std::vector<std::string>{"failed"});
  session.answer({.found = true, .parts = {Chunk("0,2-3")}});
  CHECK(session.take_output() == "cmd=get_result rc=0 msg=success found=TRUE value=0,2-3\n");
}

TEST_CASE("barriers of groups name their members and do not keep other requests waiting") {
  LockStep session = ready();
  CHECK(feed(session,
             "cmd=barrier_in group=WORLD:0\ncmd=barrier_in group=NODE:7\n"
             "cmd=barrier_in group=3,1:7\ncmd=get_appnum\ncmd=put kvsname=kvs_0 key=a value=b\n"
             "cmd=get_appnum\n") == std::vector<std::string>{"fence 0-3 tag 0", "fence 0-1 tag 7",
                                                             "fence 1,3 tag 7", "put a=b"});
  CHECK(session.take_output() == "cmd=appnum rc=0 appnum=2\n");
  session.answer(3, {});  // answers may come in any order
  session.answer(1, {.ok = false, .error = "rank 2 ended"});
  CHECK(session.take_output() ==
        "cmd=barrier_out rc=0 tag=7\ncmd=barrier_out rc=1 tag=0 msg=rank_2_ended\n");
  session.answer(4, {});
  CHECK(feed(session, "").empty());
  CHECK(session.take_output() == "cmd=put_result rc=0\ncmd=appnum rc=0 appnum=2\n");
  CHECK(feed(session, "cmd=finalize\n").empty());
  CHECK(session.take_output() == "cmd=finalize_ack rc=1 msg=in_a_barrier\n");
  session.answer(2, {});
  session.answer(2, {});
  CHECK(session.take_output() == "cmd=barrier_out rc=0 tag=7\n");
  CHECK(feed(session, "cmd=finalize\n").empty());
  CHECK(session.take_output() == "cmd=finalize_ack rc=0\n");
}

TEST_CASE("barriers of groups that cannot be are refused, or violations") {
  CHECK(answer_to("cmd=barrier_in group=0,2:5") ==
        "cmd=barrier_out rc=1 tag=5 msg=not_in_the_group\n");
  LockStep session = ready();
  CHECK(feed(session, "cmd=barrier_in group=NODE:5\ncmd=barrier_in group=NODE:5\n").size() == 1);
  CHECK(session.take_output() == "cmd=barrier_out rc=1 tag=5 msg=already_in_that_barrier\n");
  CHECK(feed(session, "cmd=barrier_in group=WORLD:0\n").size() == 1);
  CHECK(feed(session, "cmd=barrier_in\n").empty());  // it is the same barrier
  CHECK(session.take_output() == "cmd=barrier_out rc=1 msg=already_in_that_barrier\n");
  for (int tag = 0; tag < 2 * static_cast<int>(kMaxInFlight); ++tag)
    feed(session, "cmd=barrier_in group=WORLD:" + std::to_string(tag) + "\n");
  CHECK_THAT(session.take_output(), Catch::EndsWith("tag=511 msg=too_many_barriers\n"));
  for (const std::string group : {"", "WORLD", "WORLD:", "WORLD:-1", "WORLD:x", "node:1", "1,:2",
                                  ",1:2", "1,9:2", "-1:2", "1-3:2"}) {
    CHECK_THAT(violation_of(ready(), "cmd=barrier_in group=" + group + "\n"),
               Catch::Contains("a barrier without a group"));
  }
}

}  // namespace
}  // namespace scela::pmi::pmi1_job_test
