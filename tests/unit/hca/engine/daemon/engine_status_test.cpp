#include "hca/engine/daemon/engine_status.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace engine_status_test {

using namespace scela::hca;
using Json = nlohmann::json;

namespace {

EngineStatus of_two() {
  EngineStatus status;
  status.pid = 77;
  status.version = "1.2.3";
  status.sleeps = 9;
  status.counters.processes.resize(2);
  status.who = {{101, "first"}, {102, "second"}};
  ProcessCounters& first = status.counters.processes[0];
  first.holdings.rc = 3;
  first.holdings.srq_buffer_bytes = 5ULL << 20;
  first.traffic.posted = 123'456;
  first.traffic.rnr_retries = 4;
  status.fabric = {{"node", "3 of 8"}, {"nodes connected", "2"}};
  status.counters.holdings.rc = 3;
  status.counters.traffic.posted = 123'456;
  return status;
}

}  // namespace

TEST_CASE("the status for people is a table of each process and of all") {
  const std::string text = status_text(of_two());
  INFO(text);
  CHECK(text.find("scela-hca 1.2.3, process 77\nprocesses 2;") == 0);
  CHECK(text.find("\n101  first ") != std::string::npos);
  CHECK(text.find("\n102  second ") != std::string::npos);
  CHECK(text.find("\nall ") != std::string::npos);
  CHECK(text.ends_with("\n\nnode 3 of 8\nnodes connected 2\n"));
  CHECK(text.find(" 5.0M ") != std::string::npos);
  CHECK(text.find(" 123K ") != std::string::npos);
}

TEST_CASE("the status for programs says every figure in full") {
  const Json json = Json::parse(status_json(of_two()));
  CHECK(json["pid"] == 77);
  CHECK(json["engine"]["sleeps"] == 9);
  CHECK(json["node"]["queue_pairs"]["rc"] == 3);
  REQUIRE(json["processes"].size() == 2);
  CHECK(json["processes"][0]["program"] == "first");
  CHECK(json["processes"][0]["requests"]["posted"] == 123'456);
  CHECK(json["processes"][0]["retries"]["receiver_not_ready"] == 4);
  CHECK(json["processes"][0]["shared_receive_queues"]["buffer_bytes"] == 5 << 20);
  CHECK(json["fabric"]["nodes connected"] == "2");
  CHECK(json["processes"][1]["requests"]["posted"] == 0);
}

TEST_CASE("a program may call itself what it likes, and the status stays text") {
  char before[16] = {};
  REQUIRE(::prctl(PR_GET_NAME, before) == 0);
  REQUIRE(::prctl(PR_SET_NAME, "a\n\"\xff\\b") == 0);
  EngineStatus status = of_two();
  status.who[0].program = program_of(::getpid());
  REQUIRE(::prctl(PR_SET_NAME, before) == 0);
  CHECK(status.who[0].program == "a?\"?\\b");
  CHECK(Json::parse(status_json(status))["processes"][0]["program"] == "a?\"?\\b");
}

}  // namespace engine_status_test
