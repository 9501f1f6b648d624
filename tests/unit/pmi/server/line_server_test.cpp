#include "pmi/server/line_server.h"

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/overloaded.h"
#include "tests/unit/pmi/protocol/request_text.h"

namespace scela::pmi::line_server_test {
namespace {

// A node with one store for all ranks. It answers at once within the call, or keeps the ids.
class FakeServices : public JobServices {
 public:
  JobFacts facts(Rank rank) const override {
    return {.rank = rank,
            .size = 2,
            .universe_size = 2,
            .kvsname = "kvs",
            .process_mapping = "m",
            .first_rank = first_rank};
  }
  void submit(Rank rank, ask::RequestId id, ask::Request request) override {
    std::visit(
        Overloaded{
            [&](ask::Put& put) {
              pairs[put.key] = put.value.view();
              log("put " + put.key, rank, id, {});
            },
            [&](ask::Get& get) {
              const auto pair = pairs.find(get.key);
              ask::Response answer;
              if (pair != pairs.end()) answer = {.found = true, .parts = {Chunk(pair->second)}};
              log("get " + get.key, rank, id, answer);
            },
            [&](ask::Collective& call) {
              if (call.kind == ask::CollectiveKind::allgather) {
                return log("exchange", rank, id, {.parts = {call.parts.at(0), call.parts.at(0)}});
              }
              log("fence " + call.set.text() + " " + std::to_string(call.tag), rank, id, {});
            },
            [&](ask::PutNode& put) { log("put_node " + put.key + "=" + put.value, rank, id, {}); },
            [&](ask::GetNode& get) {
              log("get_node " + get.key + (get.wait ? " waiting" : ""), rank, id, {});
            },
            [&](ask::Name& name) {
              log(text_of(name), rank, id,
                  name.act == ask::NameAct::lookup ? text("port") : ask::Response());
            },
            [&](ask::Spawn& spawn) {
              log("spawn " + spawn.request.programs[0].argv[0], rank, id, text("kvs.1"));
            },
            [&](ask::Failed&) { log("failed", rank, id, text("1")); },
            [&](ask::Abort& abort) {
              calls.push_back("abort " + std::to_string(rank) + " " + std::to_string(abort.code) +
                              " " + abort.why);
            },
            [&](ask::Violation& violation) {
              calls.push_back("violation " + std::to_string(rank) + " " + violation.why);
            },
            [&](auto&) { FAIL("no session asks this"); },
        },
        request);
  }
  bool offer_segment(Rank rank) override {
    calls.push_back("segment by " + std::to_string(rank));
    return has_memory;
  }
  bool lend_ring(Rank rank) override {
    calls.push_back("ring by " + std::to_string(rank));
    return has_memory;
  }
  bool has_left(Rank /*asker*/, Rank about) override { return about == first_rank + 1; }

  std::map<std::string, std::string> pairs;
  std::vector<std::string> calls;
  std::vector<ask::RequestId> ids;
  LineServer* answer_at_once = nullptr;
  Rank first_rank = 0;  // of the world, in the job
  bool has_memory = false;

 private:
  static ask::Response text(const char* only) { return {.parts = {Chunk(only)}}; }
  void log(const std::string& what, Rank rank, ask::RequestId id, const ask::Response& answer) {
    calls.push_back(what + " by " + std::to_string(rank));
    ids.push_back(id);
    if (answer_at_once != nullptr) answer_at_once->answered(id, answer);
  }
};

const std::string kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";

TEST_CASE("a server passes requests on with the rank and answers by id") {
  FakeServices services;
  LineServer server(services, 1);
  server.receive(kInit);
  CHECK(server.take_output() == "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n");
  server.receive("cmd=put kvsname=kvs key=a value=1\ncmd=get kvsname=kvs key=a\n");
  REQUIRE(services.calls == std::vector<std::string>{"put a by 1"});
  server.answered(services.ids[0], {});
  REQUIRE(services.calls == std::vector<std::string>{"put a by 1", "get a by 1"});
  CHECK(services.ids[1] > services.ids[0]);
  server.answered(services.ids[1], {.found = true, .parts = {Chunk("1")}});
  CHECK(server.take_output() ==
        "cmd=put_result rc=0\ncmd=get_result rc=0 msg=success found=TRUE value=1\n");
}

TEST_CASE("answers from within the call are served to the last pipelined line") {
  FakeServices services;
  LineServer server(services, 0);
  services.answer_at_once = &server;
  std::string all = kInit;
  std::string expected = "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n";
  for (int i = 0; i < 1000; ++i) {  // it would show deep recursion
    all += "cmd=barrier_in\n";
    expected += "cmd=barrier_out rc=0\n";
  }
  server.receive(all + "cmd=finalize\n");
  CHECK(server.take_output() == expected + "cmd=finalize_ack rc=0\n");
  CHECK_FALSE(server.unfinished());
}

TEST_CASE("whether a rank has left is asked of the job") {
  FakeServices services;
  services.first_rank = GENERATE(0, 7);
  LineServer server(services, 0);
  services.answer_at_once = &server;
  server.receive(kInit);
  server.take_output();
  server.receive("cmd=scela_left rank=1\ncmd=scela_left rank=0\n");
  CHECK(server.take_output() ==
        "cmd=scela_left_result rc=0 left=1\ncmd=scela_left_result rc=0 left=0\n");
  CHECK_FALSE(server.finished());
  server.receive("cmd=finalize\n");
  CHECK(server.finished());
}

TEST_CASE("memory is asked of the rank's node, and a refusal is an answer") {
  FakeServices services;
  services.has_memory = GENERATE(true, false);
  LineServer server(services, 1);
  server.receive(kInit);
  server.take_output();
  server.receive("cmd=scela_segment\ncmd=scela_ring\n");
  CHECK(services.calls == std::vector<std::string>{"segment by 1", "ring by 1"});
  CHECK(server.take_output() ==
        (services.has_memory ? "cmd=scela_segment_result rc=0\n"
                               "cmd=scela_ring_result rc=0\n"
                             : "cmd=scela_segment_result rc=1 msg=there_is_no_shared_memory\n"
                               "cmd=scela_ring_result rc=1 "
                               "msg=this_connection_is_all_there_is\n"));
}

TEST_CASE("to ask whether a rank has left that there is not ends the job") {
  FakeServices services;
  LineServer server(services, 0);
  const char* const rank = GENERATE("-1", "1000000", "x", "");
  server.receive(kInit + "cmd=scela_left rank=" + rank + "\n");
  REQUIRE(services.calls.size() == 1);
  CHECK(services.calls[0].starts_with("violation 0 "));
}

TEST_CASE("answers of another id, of a former request or after the end are ignored") {
  FakeServices services;
  LineServer server(services, 0);
  server.receive(kInit + "cmd=barrier_in\n");
  server.take_output();
  server.answered(services.ids[0] + 1, {});
  CHECK(server.take_output() == "");
  server.answered(services.ids[0], {});
  server.receive("cmd=barrier_in\n");
  server.take_output();
  server.answered(services.ids[0], {});
  CHECK(server.take_output() == "");
  server.closed();
  server.answered(services.ids[1], {});
  server.receive("cmd=barrier_in\n");
  CHECK(server.take_output() == "");
  CHECK(services.calls.size() == 2);
}

std::string message(const std::string& payload) {
  const std::string length = std::to_string(payload.size());
  return std::string(6 - length.size(), ' ') + length + payload;
}

TEST_CASE("a rank that chooses PMI-2 is served in it on the same connection") {
  FakeServices services;
  LineServer server(services, 1);
  const std::string all = "cmd=init pmi_version=2 pmi_subversion=0\n" +
                          message("cmd=fullinit;pmirank=1;") + message("cmd=kvs-fence;");
  SECTION("in one piece") {
    server.receive(all);
  }
  SECTION("a byte at a time") {
    for (const char c : all)
      server.receive({&c, 1});
  }
  CHECK(server.take_output() ==
        "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n" +
            message("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=2;"
                    "appnum=0;debugged=FALSE;pmiverbose=FALSE;"));
  CHECK(services.calls == std::vector<std::string>{"fence 0-1 0 by 1"});
  CHECK(server.unfinished());
  server.answered(services.ids[0], {});
  server.receive(message("cmd=finalize;"));
  CHECK(server.take_output() ==
        message("cmd=kvs-fence-response;rc=0;") + message("cmd=finalize-response;rc=0;"));
  CHECK_FALSE(server.unfinished());
}

TEST_CASE("every request of PMI-2 reaches the job, answered from within the call") {
  FakeServices services;
  LineServer server(services, 0);
  services.answer_at_once = &server;
  server.receive("cmd=init pmi_version=2 pmi_subversion=0\n" + message("cmd=fullinit;"));
  for (const std::string payload :
       {"cmd=kvs-put;key=a;value=1;", "cmd=kvs-get;key=a;",
        "cmd=ring;ring-count=1;ring-left=l;ring-right=r;", "cmd=info-putnodeattr;key=k;value=v;",
        "cmd=info-getnodeattr;key=k;wait=TRUE;", "cmd=name-publish;name=n;port=p;",
        "cmd=name-lookup;name=n;", "cmd=name-unpublish;name=n;",
        "cmd=info-getjobattr;key=PMI_dead_processes;"}) {
    server.receive(message(payload));
  }
  CHECK(services.calls == std::vector<std::string>{"put a by 0", "get a by 0", "exchange by 0",
                                                   "put_node k=v by 0", "get_node k waiting by 0",
                                                   "publish n=p by 0", "lookup n by 0",
                                                   "unpublish n by 0", "failed by 0"});
  CHECK_THAT(server.take_output(),
             Catch::Contains("ring-count=0;ring-left=r;ring-right=l;") &&
                 Catch::Contains("cmd=name-lookup-response;rc=0;value=port;port=port;") &&
                 Catch::EndsWith("rc=0;found=TRUE;value=1;"));
}

TEST_CASE("whether a rank has left is asked of the job by PMI-2, too") {
  FakeServices services;
  LineServer server(services, 0);
  services.answer_at_once = &server;
  server.receive("cmd=init pmi_version=2 pmi_subversion=0\n" + message("cmd=fullinit;"));
  server.take_output();
  server.receive(message("cmd=scela-left;rank=1;") + message("cmd=scela-left;rank=0;"));
  CHECK(server.take_output() == message("cmd=scela-left-response;rc=0;found=TRUE;value=;") +
                                    message("cmd=scela-left-response;rc=0;found=FALSE;"));
  for (const std::string rank : {"rank=-1;", "rank=1000000;", "rank=x;", ""}) {
    server.receive(message("cmd=scela-left;" + rank));
    CHECK_THAT(server.take_output(), Catch::Contains("rc=3;errmsg=there is no such rank;"));
  }
}

TEST_CASE("a rank that ends between init and finalize is unfinished") {
  FakeServices services;
  LineServer server(services, 0);
  CHECK_FALSE(server.unfinished());
  server.receive(kInit);
  CHECK(server.unfinished());
  LineServer ended(services, 0);
  ended.receive(kInit);
  ended.closed();
  CHECK(ended.unfinished());
  server.receive("cmd=finalize\n");
  server.closed();
  CHECK_FALSE(server.unfinished());
}

TEST_CASE("abort and violation reach the job once and end the conversation") {
  FakeServices services;
  LineServer server(services, 1);
  server.receive(kInit + "cmd=abort exitcode=7 message=no way\ncmd=abort exitcode=8\n");
  server.receive("cmd=abort exitcode=9\n");
  CHECK(services.calls == std::vector<std::string>{"abort 1 7 no way"});
  CHECK(server.broken());

  services.calls.clear();
  LineServer garbage(services, 0);
  CHECK_FALSE(garbage.broken());
  garbage.receive("GET / HTTP/1.1\r\n\r\n");
  CHECK(garbage.broken());
  garbage.receive("more\n");
  CHECK(services.calls ==
        std::vector<std::string>{"violation 0 PMI-1: the rank sent a line without a command: "
                                 "\"GET / HTTP/1.1\\x0d\""});
}

}  // namespace
}  // namespace scela::pmi::line_server_test
