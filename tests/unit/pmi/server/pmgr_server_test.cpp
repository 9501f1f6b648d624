#include "pmi/server/pmgr_server.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "pmi/protocol/native_ints.h"

namespace scela::pmi::pmgr_server_test {
namespace {

class FakeServices : public JobServices {
 public:
  JobFacts facts(Rank rank) const override { return {.rank = rank, .size = 2}; }
  void submit(Rank rank, ask::RequestId id, ask::Request request) override {
    if (const auto* call = std::get_if<ask::Collective>(&request)) {
      told.push_back("operation " + std::to_string(static_cast<int>(call->kind)) + " by " +
                     std::to_string(rank) + " of " + call->set.text());
      ids.push_back(id);
      if (answer_at_once != nullptr) answer_at_once->answered(id, {});
    } else if (const auto* abort = std::get_if<ask::Abort>(&request)) {
      told.push_back("abort by " + std::to_string(rank) + " with " + std::to_string(abort->code));
    } else {
      told.push_back("violation by " + std::to_string(rank) + ": " +
                     std::get<ask::Violation>(request).why);
    }
  }
  bool offer_segment(Rank /*rank*/) override { return false; }
  bool lend_ring(Rank /*rank*/) override { return false; }
  bool has_left(Rank /*asker*/, Rank /*about*/) override { return false; }

  std::vector<std::string> told;
  std::vector<ask::RequestId> ids;
  PmgrServer* answer_at_once = nullptr;
};

std::string barriers(int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    append_int(out, 3);
  return out;
}

std::string taken(PmgrServer& server) {
  std::string out;
  for (const Chunk& chunk : server.take_chunks())
    out += chunk.view();
  return out;
}

TEST_CASE("PMGR server: operations go on with the rank, answers come back by number") {
  FakeServices services;
  PmgrServer server(services, 1, make_pmgr_session(1, 2));
  CHECK_FALSE(server.unfinished());  // no rank has connected yet
  server.receive("");
  CHECK(server.unfinished());
  server.receive(barriers(2));
  REQUIRE(services.told == std::vector<std::string>{"operation 0 by 1 of 0-1"});
  server.answered(services.ids[0] + 17, {});
  CHECK(taken(server).empty());
  server.answered(services.ids[0], {});
  CHECK(taken(server) == barriers(1));
  CHECK(services.ids.size() == 2);
}

TEST_CASE("PMGR server: answers from within the call are served to the last operation") {
  FakeServices services;
  PmgrServer server(services, 0, make_pmgr_session(0, 2));
  services.answer_at_once = &server;
  server.receive(barriers(1000));  // it would show deep recursion
  CHECK(taken(server) == barriers(1000));
}

TEST_CASE("PMGR server: a rank that has left is hung up on, one that breaks the rules is dropped") {
  FakeServices services;
  PmgrServer server(services, 0, make_pmgr_session(0, 2));
  std::string word;
  SECTION("left") {
    services.answer_at_once = &server;
    append_int(word, 1);
    server.receive(word);
    CHECK(server.hangs_up());
    CHECK_FALSE(server.broken());
    CHECK_FALSE(server.unfinished());
  }
  SECTION("broken") {
    append_int(word, 77);
    server.receive(word);
    CHECK(server.broken());
    CHECK(services.told.back() == "violation by 0: PMGR: the rank sent the opcode 77");
  }
  CHECK_FALSE(server.wants_bytes());
  const std::size_t before = services.told.size();
  server.receive(barriers(1));
  CHECK(services.told.size() == before);
}

TEST_CASE("PMGR server: operations of a rank are judged even when it has gone") {
  FakeServices services;
  PmgrServer server(services, 0, make_pmgr_session(0, 2));
  std::string word;
  append_int(word, 1);
  server.receive(word);
  server.closed();
  server.answered(services.ids.back(),
                  {.ok = false, .error = "others barrier", .disagreement = true});
  REQUIRE(server.broken());
  CHECK(services.told.back().find("others barrier") != std::string::npos);
}

}  // namespace
}  // namespace scela::pmi::pmgr_server_test
