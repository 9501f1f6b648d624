#include "pmi/protocol/pmi2/pmi2_session.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "pmi/protocol/limits.h"
#include "tests/unit/pmi/protocol/request_text.h"

namespace scela::pmi::pmi2_session_test {
namespace {

using Strings = std::vector<std::string>;

JobFacts facts() {
  return {.rank = 1,
          .size = 4,
          .appnum = 2,
          .universe_size = 16,
          .kvsname = "job_0",
          .process_mapping = "(vector,(0,2,2))",
          .node_ranks = RankSet::run(0, 2)};
}

std::string framed(const std::string& payload) {
  const std::string length = std::to_string(payload.size());
  return length + std::string(6 - length.size(), ' ') + payload;  // as Slurm's client pads it
}

// Feeds bytes and returns the requests to the job, without answering them.
Strings feed_bytes(Pmi2Session& session, std::string_view bytes) {
  session.receive(bytes);
  Strings asked;
  while (auto request = session.next())
    asked.push_back(name_of(*request));
  return asked;
}

Strings feed(Pmi2Session& session, const std::string& payload) {
  return feed_bytes(session, framed(payload));
}

// Returns the messages written to the client, one in each string, after a check of their lengths.
Strings said(Pmi2Session& session) {
  const std::string output = session.take_output();
  std::string_view rest = output;
  Strings messages;
  while (!rest.empty()) {
    REQUIRE(rest.size() > kLengthField);
    const auto length = parse_length(rest.substr(0, kLengthField));
    REQUIRE(length);
    REQUIRE(rest.size() >= kLengthField + *length);
    REQUIRE(parse_message(rest.substr(kLengthField, *length)));
    messages.emplace_back(rest.substr(kLengthField, *length));
    rest.remove_prefix(kLengthField + *length);
  }
  return messages;
}

const std::string kFullinit = "cmd=fullinit;pmijobid=7;pmirank=1;threaded=FALSE;";

Pmi2Session ready() {
  Pmi2Session session(facts());
  REQUIRE(feed(session, kFullinit).empty());
  REQUIRE(said(session) ==
          Strings{"cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=4;"
                  "appnum=2;debugged=FALSE;pmiverbose=FALSE;"});
  return session;
}

// Returns the session's own answer to one message.
std::string answer_to(const std::string& payload) {
  Pmi2Session session = ready();
  CHECK(feed(session, payload).empty());
  const Strings messages = said(session);
  REQUIRE(messages.size() == 1);
  return messages.front();
}

std::string violation_of(Pmi2Session session, const std::string& bytes) {
  const Strings asked = feed_bytes(session, bytes);
  REQUIRE(asked.size() == 1);
  session.take_output();
  CHECK(feed(session, "cmd=job-getid;").empty());
  CHECK(session.take_output() == "");
  return asked.front();
}

TEST_CASE("a client of Slurm's library is served from fullinit to finalize") {
  struct Step {
    std::string request;
    std::string asked;  // to the job; empty: no request
    ask::Response answer;
    std::string reply;
  };
  const std::vector<Step> steps{
      {"cmd=job-getid;", "", {}, "cmd=job-getid-response;rc=0;jobid=job_0;"},
      {"cmd=kvs-put;key=a;value=1;;2;", "put a=1;2", {}, "cmd=kvs-put-response;rc=0;"},
      {"cmd=kvs-fence;", "fence 0-3 tag 0", {}, "cmd=kvs-fence-response;rc=0;"},
      {"cmd=kvs-get;jobid=job_0;srcid=-1;key=a;",
       "get a",
       {.found = true, .parts = {Chunk("1;2")}},
       "cmd=kvs-get-response;rc=0;found=TRUE;value=1;;2;"},
      {"cmd=kvs-get;jobid=;srcid=3;key=b;", "get b", {}, "cmd=kvs-get-response;rc=0;found=FALSE;"},
      {"cmd=info-putnodeattr;key=k;value=v;",
       "put_node k=v",
       {},
       "cmd=info-putnodeattr-response;rc=0;"},
      {"cmd=info-getnodeattr;key=k;wait=TRUE;",
       "get_node k waiting",
       {.found = true, .parts = {Chunk("v")}},
       "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=v;"},
      {"cmd=info-getnodeattr;key=l;wait=FALSE;",
       "get_node l",
       {},
       "cmd=info-getnodeattr-response;rc=0;found=FALSE;"},
      {"cmd=info-getjobattr;key=PMI_process_mapping;",
       "",
       {},
       "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));"},
      {"cmd=info-getjobattr;key=universeSize;",
       "",
       {},
       "cmd=info-getjobattr-response;rc=0;found=TRUE;value=16;"},
      {"cmd=info-getjobattr;key=hasNameServ;",
       "",
       {},
       "cmd=info-getjobattr-response;rc=0;found=TRUE;value=TRUE;"},
      {"cmd=info-getjobattr;key=physTopology;",
       "",
       {},
       "cmd=info-getjobattr-response;rc=0;found=FALSE;"},
      {"cmd=info-getjobattr;key=PMI_dead_processes;",
       "failed",
       {.parts = {Chunk("2-3")}},
       "cmd=info-getjobattr-response;rc=0;found=TRUE;value=2-3;"},
      {"cmd=name-publish;name=n;port=p;infokeycount=0;",
       "publish n=p",
       {},
       "cmd=name-publish-response;rc=0;"},
      {"cmd=name-lookup;name=n;infokeycount=0;",
       "lookup n",
       {.parts = {Chunk("p")}},
       "cmd=name-lookup-response;rc=0;value=p;port=p;"},
      {"cmd=name-unpublish;name=n;infokeycount=0;",
       "unpublish n",
       {},
       "cmd=name-unpublish-response;rc=0;"},
      {"cmd=finalize;", "", {}, "cmd=finalize-response;rc=0;"},
  };
  const auto piece = GENERATE(1U, 7U, 1U << 20);
  Pmi2Session session = ready();
  ask::RequestId number = 0;
  for (const Step& step : steps) {
    CHECK(session.unfinished());
    const std::string bytes = framed(step.request);
    Strings asked;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      CHECK(asked.empty());
      CHECK(session.take_output() == "");
      for (auto& one : feed_bytes(session, std::string_view(bytes).substr(at, piece)))
        asked.push_back(one);
    }
    if (!step.asked.empty()) {
      CHECK(asked == Strings{step.asked});
      CHECK(session.take_output() == "");
      session.answer(++number, step.answer);
    }
    CHECK(said(session) == Strings{step.reply});
  }
  CHECK_FALSE(session.unfinished());
}

TEST_CASE("fullinit takes a rank that fits the connection, or none") {
  Pmi2Session bare(facts());
  CHECK(feed(bare, "cmd=fullinit;").empty());
  CHECK_THAT(said(bare).front(), Catch::Contains("rc=0;"));
  Pmi2Session wrong(facts());
  CHECK(feed(wrong, "cmd=fullinit;pmirank=2;").empty());
  CHECK(said(wrong) ==
        Strings{"cmd=fullinit-response;rc=3;errmsg=this is the connection of rank 1;"});
  CHECK(feed(wrong, "cmd=fullinit;pmirank=1;").empty());
  CHECK_THAT(said(wrong).front(), Catch::Contains("rc=0;"));
}

TEST_CASE("a failed request is answered with the protocol's error") {
  Pmi2Session session = ready();
  ask::RequestId number = 0;
  for (const std::string command :
       {"kvs-put;key=a;value=b", "kvs-get;key=a", "kvs-fence", "info-getnodeattr;key=a;wait=TRUE",
        "name-publish;name=n;port=p", "name-lookup;name=n", "name-unpublish;name=n",
        "ring;ring-count=1;ring-left=;ring-right="}) {
    CHECK(feed(session, "cmd=" + command + ";").size() == 1);
    session.answer(++number, {.ok = false, .error = "no; really"});
    CHECK(said(session) == Strings{"cmd=" + command.substr(0, command.find(';')) +
                                   "-response;rc=14;errmsg=no;; really;"});
  }
}

TEST_CASE("a long, incomplete or foreign request is refused, and the session goes on") {
  const std::string key(kMaxPmi2Key, 'k');
  const std::string value(kMaxPmi2Value, 'v');
  Pmi2Session session = ready();
  CHECK(feed(session, "cmd=kvs-put;key=" + key + ";value=" + value + ";") ==
        Strings{"put " + key + "=" + value});
  CHECK(answer_to("cmd=kvs-put;key=" + key + "k;value=v;") ==
        "cmd=kvs-put-response;rc=5;errmsg=key is longer than 64 bytes;");
  CHECK(answer_to("cmd=kvs-put;key=k;value=" + value + "v;") ==
        "cmd=kvs-put-response;rc=7;errmsg=value is longer than 1024 bytes;");
  CHECK(answer_to("cmd=kvs-put;key=k;") == "cmd=kvs-put-response;rc=3;errmsg=value is missing;");
  CHECK(answer_to("cmd=kvs-get;") == "cmd=kvs-get-response;rc=3;errmsg=key is missing;");
  CHECK(answer_to("cmd=kvs-put;key=PMI_x;value=;") ==
        "cmd=kvs-put-response;rc=3;errmsg=keys that begin with PMI_ are reserved;");
  CHECK(answer_to("cmd=kvs-get;jobid=other;key=a;") ==
        "cmd=kvs-get-response;rc=3;errmsg=there is no such job;");
  CHECK(answer_to("cmd=kvs-get;srcid=4;key=a;") ==
        "cmd=kvs-get-response;rc=3;errmsg=srcid is no rank of the job;");
  CHECK(answer_to("cmd=name-publish;name=n;port=" + value + "p;") ==
        "cmd=name-publish-response;rc=7;errmsg=port is longer than 1024 bytes;");
  CHECK(answer_to("cmd=ring;ring-left=;ring-right=;") ==
        "cmd=ring-response;rc=3;errmsg=ring-count is no number;");
  CHECK(answer_to("cmd=job-connect;jobid=x;") ==
        "cmd=job-connect-response;rc=14;errmsg=not supported;");
  CHECK(answer_to("cmd=job-disconnect;jobid=x;") ==
        "cmd=job-disconnect-response;rc=14;errmsg=not supported;");
  CHECK(answer_to("cmd=spawn;ncmds=1;") ==
        "cmd=spawn-response;rc=3;errmsg=ncmds is not how many come;");
  CHECK(answer_to("cmd=dance;thrid=3;") ==
        "cmd=dance-response;thrid=3;rc=14;errmsg=unknown command;");
}

TEST_CASE("a mapping that does not fit is not found") {
  JobFacts huge = facts();
  huge.process_mapping = std::string(kMaxValue, '1');
  Pmi2Session session(huge);
  feed(session, kFullinit);
  session.take_output();
  feed(session, "cmd=info-getjobattr;key=PMI_process_mapping;");
  CHECK(said(session) == Strings{"cmd=info-getjobattr-response;rc=0;found=FALSE;"});
}

TEST_CASE("each rank of a ring learns the counts before it and its neighbours' words") {
  std::vector<Chunk> parts;
  for (Rank rank = 0; rank < 3; ++rank) {
    JobFacts mine = facts();
    mine.rank = rank;
    mine.size = 3;
    Pmi2Session session(mine);
    feed(session, "cmd=fullinit;");
    const std::string who = std::to_string(rank);
    session.receive(framed("cmd=ring;ring-count=" + std::to_string(rank + 1) + ";ring-left=l;;" +
                           who + ";ring-right=r" + who + ";"));
    const auto request = session.next();
    REQUIRE(request);
    parts.emplace_back(std::get<ask::Collective>(std::get<ask::Request>(*request)).parts.at(0));
  }
  const Strings expected{"ring-count=0;ring-left=r2;ring-right=l;;1;",
                         "ring-count=1;ring-left=r0;ring-right=l;;2;",
                         "ring-count=3;ring-left=r1;ring-right=l;;0;"};
  for (Rank rank = 0; rank < 3; ++rank) {
    JobFacts mine = facts();
    mine.rank = rank;
    mine.size = 3;
    Pmi2Session session(mine);
    feed(session, "cmd=fullinit;");
    feed(session, "cmd=ring;ring-count=1;ring-left=;ring-right=;");
    session.take_output();
    session.answer(1, {.parts = parts});
    CHECK(said(session) == Strings{"cmd=ring-response;rc=0;" + expected[rank]});
  }
}

TEST_CASE("requests of different threads overlap, and are answered to their own") {
  Pmi2Session session = ready();
  CHECK(feed(session, "cmd=kvs-fence;thrid=0x1;") == Strings{"fence 0-3 tag 0"});
  CHECK(feed(session, "cmd=info-getnodeattr;thrid=0x2;key=a;wait=TRUE;") ==
        Strings{"get_node a waiting"});
  CHECK(feed(session, "cmd=kvs-get;key=b;") == Strings{"get b"});
  CHECK(feed(session, "cmd=job-getid;thrid=a;;b;").empty());
  CHECK(said(session) == Strings{"cmd=job-getid-response;thrid=a;;b;rc=0;jobid=job_0;"});
  session.answer(3, {});
  session.answer(2, {.found = true, .parts = {Chunk("v")}});
  session.answer(1, {});
  session.answer(1, {});  // no request waits for this
  CHECK(said(session) == Strings{"cmd=kvs-get-response;rc=0;found=FALSE;",
                                 "cmd=info-getnodeattr-response;thrid=0x2;rc=0;found=TRUE;value=v;",
                                 "cmd=kvs-fence-response;thrid=0x1;rc=0;"});
}

TEST_CASE("requests of one thread are served one after the other") {
  const std::string thrid = GENERATE("", "thrid=7;");
  Pmi2Session session = ready();
  CHECK(feed(session, "cmd=kvs-put;" + thrid + "key=a;value=1;") == Strings{"put a=1"});
  CHECK(feed(session, "cmd=job-getid;" + thrid).empty());
  CHECK(feed(session, "cmd=kvs-get;" + thrid + "key=a;").empty());
  CHECK(said(session).empty());
  session.answer(1, {});
  CHECK(feed_bytes(session, "") == Strings{"get a"});
  CHECK(said(session) == Strings{"cmd=kvs-put-response;" + thrid + "rc=0;",
                                 "cmd=job-getid-response;" + thrid + "rc=0;jobid=job_0;"});
}

TEST_CASE("a rank is in one fence and in one ring at a time, and finalizes when in none") {
  Pmi2Session session = ready();
  const std::string ring = ";ring-count=1;ring-left=;ring-right=;";
  CHECK(feed(session, "cmd=kvs-fence;thrid=1;") == Strings{"fence 0-3 tag 0"});
  CHECK(feed(session, "cmd=ring;thrid=2" + ring) == Strings{"exchange"});
  CHECK(feed(session, "cmd=kvs-fence;thrid=3;").empty());
  CHECK(feed(session, "cmd=ring;thrid=4" + ring).empty());
  CHECK(feed(session, "cmd=finalize;thrid=5;").empty());
  CHECK(said(session) ==
        Strings{"cmd=kvs-fence-response;thrid=3;rc=14;errmsg=this rank is in a fence already;",
                "cmd=ring-response;thrid=4;rc=14;errmsg=this rank is in a ring already;",
                "cmd=finalize-response;thrid=5;rc=14;errmsg=other requests have not been answered "
                "yet;"});
  CHECK(session.unfinished());
}

TEST_CASE("no more than so many requests are in flight, the others wait") {
  Pmi2Session session = ready();
  std::size_t asked = 0;
  for (std::size_t i = 0; i < kMaxInFlight + 2; ++i)
    asked += feed(session, "cmd=kvs-get;key=a;thrid=" + std::to_string(i) + ";").size();
  CHECK(asked == kMaxInFlight);
  session.answer(5, {});
  CHECK(feed_bytes(session, "").size() == 1);
}

TEST_CASE("abort ends the session in every state, and waits for nothing") {
  CHECK(feed(*std::make_unique<Pmi2Session>(facts()), "cmd=abort;isworld=TRUE;msg=out;") ==
        Strings{"abort 1 out"});
  Pmi2Session session = ready();
  CHECK(feed(session, "cmd=kvs-fence;").size() == 1);
  // Three texts do not stop the session: another command, one that has abort as a value, and half a
  // message.
  CHECK(feed(session, "cmd=kvs-put;key=a;value=cmd=abort;;;").empty());
  const std::string last = framed("cmd=abort;exitcode=7;message=no way;");
  CHECK(feed_bytes(session, last.substr(0, 20)).empty());
  CHECK(feed_bytes(session, last.substr(20)) == Strings{"abort 7 no way"});
  session.answer(1, {});
  CHECK(session.take_output() == "");
  Pmi2Session late = ready();
  feed(late, "cmd=finalize;");
  CHECK(feed(late, "cmd=abort;") == Strings{"abort 1 "});
}

TEST_CASE("an abort of the rank alone is its own end and not the job's") {
  Pmi2Session session = ready();
  CHECK(feed(session, "cmd=abort;isworld=FALSE;msg=;").empty());
  CHECK(feed(session, "cmd=job-getid;").empty());
  CHECK(session.take_output() == "");
  CHECK(session.unfinished());
}

TEST_CASE("a command in the wrong state is answered, and a violation that names it") {
  Pmi2Session early(facts());
  CHECK(feed(early, "cmd=kvs-fence;thrid=1;") ==
        Strings{"violation: PMI-2: the rank sent kvs-fence before fullinit"});
  CHECK(said(early) == Strings{"cmd=kvs-fence-response;thrid=1;rc=14;errmsg=kvs-fence was sent "
                               "before fullinit;"});
  CHECK(violation_of(ready(), framed(kFullinit)) ==
        "violation: PMI-2: the rank sent fullinit a second time");
  Pmi2Session late = ready();
  feed(late, "cmd=finalize;");
  CHECK(violation_of(std::move(late), framed("cmd=finalize;")) ==
        "violation: PMI-2: the rank sent finalize after finalize");
}

TEST_CASE("bytes that are no message are violations that quote them") {
  CHECK(violation_of(ready(), "cmd=finalize;") ==
        "violation: PMI-2: the rank sent \"cmd=fi\" where the length of a message is expected");
  CHECK(violation_of(ready(), "     0") ==
        "violation: PMI-2: the rank sent \"     0\" where the length of a message is expected");
  CHECK(violation_of(ready(), std::to_string(kMaxMessage + 1) + " cmd=a;") ==
        "violation: PMI-2: the rank sent a message of 65537 bytes, more than 65536");
  CHECK(violation_of(ready(), framed("key=a;")) ==
        "violation: PMI-2: the rank sent a malformed message \"key=a;\": it does not begin with "
        "cmd");
}

TEST_CASE("a message of the largest size is read, whatever is in it") {
  const std::string start = "cmd=kvs-put;key=a;value=1;rest=";
  CHECK(feed(*std::make_unique<Pmi2Session>(ready()),
             start + std::string(kMaxMessage - start.size() - 1, 'x') + ";") == Strings{"put a=1"});
}

TEST_CASE("a client that never waits is cut off at the bound") {
  Pmi2Session session = ready();
  CHECK(feed(session, "cmd=kvs-fence;") == Strings{"fence 0-3 tag 0"});
  Strings asked;
  std::size_t sent = 0;
  while (asked.empty() && sent < 2 * kMaxBacklog) {
    asked = feed(session, "cmd=job-getid;");
    sent += 20;
  }
  CHECK(asked == Strings{"violation: PMI-2: the rank sent more than 65536 bytes without waiting "
                         "for an answer"});
  CHECK(sent > kMaxBacklog);
}

TEST_CASE("a message cut short asks nothing and answers nothing") {
  const std::string bytes = framed("cmd=kvs-put;key=a;value=b;");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    Pmi2Session session = ready();
    CHECK(feed_bytes(session, bytes.substr(0, length)).empty());
    CHECK(session.take_output() == "");
    CHECK(session.unfinished());
  }
}

TEST_CASE("a spawn asks for programs, their hints and pairs, and is answered with the new job") {
  Pmi2Session session = ready();
  CHECK(feed(session,
             "cmd=spawn;thrid=4;ncmds=2;preputcount=1;ppkey0=k;ppval0=a;;b;subcmd=./a;maxprocs=2;"
             "argc=2;argv0=b c;argv1=d;infokeycount=0;subcmd=e;maxprocs=1;argc=0;infokeycount=1;"
             "infokey0=host;infoval0=h;") == Strings{"2 of [./a][b c][d]; 1 of [e] host=h; k=a;b"});
  session.answer(1, {.parts = {Chunk("job_0.1")}});
  CHECK(said(session) == Strings{"cmd=spawn-response;thrid=4;rc=0;jobid=job_0.1;errcodes=0,0,0;"});
  CHECK(feed(session, "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=2;argc=0;").size() == 1);
  session.answer(2, {.ok = false, .error = "no such program", .parts = {Chunk("1,0")}});
  CHECK(said(session) == Strings{"cmd=spawn-response;rc=14;errmsg=no such program;errcodes=1,0;"});
}

TEST_CASE("a spawn with wrong counts is refused without a job") {
  const std::string head = "cmd=spawn-response;rc=3;errmsg=";
  const std::string program = "subcmd=a;maxprocs=1;argc=0;infokeycount=0;";
  CHECK(answer_to("cmd=spawn;ncmds=2;" + program) == head + "ncmds is not how many come;");
  CHECK(answer_to("cmd=spawn;ncmds=x;" + program) == head + "ncmds is no number that can be;");
  CHECK(answer_to("cmd=spawn;ncmds=1;preputcount=1;" + program) ==
        head + "preputcount is not how many come;");
  CHECK(answer_to("cmd=spawn;ncmds=1;subcmd=a;maxprocs=0;argc=0;") ==
        head + "maxprocs is no number that can be;");
  CHECK(answer_to("cmd=spawn;ncmds=1;subcmd=a;maxprocs=1;argc=1;") ==
        head + "a program lacks an argument or info;");
  CHECK(answer_to("cmd=spawn;ncmds=1;subcmd=a;maxprocs=1;argc=0;infokeycount=1;infokey0=k;") ==
        head + "a program lacks an argument or info;");
  CHECK(answer_to("cmd=spawn;ncmds=1;subcmd=;maxprocs=1;argc=0;") ==
        head + "a program has no name;");
  CHECK(answer_to("cmd=spawn;ncmds=1;preputcount=1;ppkey0=;ppval0=v;" + program) ==
        "cmd=spawn-response;rc=5;errmsg=a preput key is empty or too long;");
  CHECK(answer_to("cmd=spawn;ncmds=1;preputcount=1;ppkey0=k;ppval0=" + std::string(1025, 'v') +
                  ";" + program) == "cmd=spawn-response;rc=7;errmsg=a preput value is too long;");
}

TEST_CASE("a spawned rank is told its parent") {
  JobFacts spawned = facts();
  spawned.spawner = "job_0";
  spawned.kvsname = "job_0.1";
  Pmi2Session session(spawned);
  CHECK(feed(session, "cmd=fullinit;pmirank=1;").empty());
  CHECK(said(session).at(0).find(";spawner-jobid=job_0;") != std::string::npos);
}

}  // namespace
}  // namespace scela::pmi::pmi2_session_test
