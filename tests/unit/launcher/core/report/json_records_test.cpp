// Tests the records of --json that need no running job. Those of real jobs are in tests/e2e/run.
#include "launcher/core/report/json_records.h"

#include <catch2/catch.hpp>
#include <chrono>

namespace json_records_test {

using namespace scela;

namespace {

using Kind = RankOutcome::Kind;

// Returns a job of two ranks on each of the hosts a, b and c.
JsonResult three_hosts() {
  JsonResult result;
  result.hosts = {"a", "b", "c"};
  for (std::uint32_t node = 0; node < 3; ++node)
    result.map.append(node, 2);
  result.program_of = [](Rank) { return "./p"; };
  return result;
}

JobOutcome::Group group(Rank first, Rank count, Kind kind, int code = 0, std::string why = "") {
  return {{.kind = kind, .code = code, .message = std::move(why)}, RankSet::run(first, count)};
}

// Returns the lines of the text that contain `part`.
std::vector<std::string> lines_with(const std::string& text, std::string_view part) {
  std::vector<std::string> found;
  std::size_t from = 0;
  for (std::size_t end; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    const std::string line = text.substr(from, end - from);
    if (line.find(part) != std::string::npos) found.push_back(line);
  }
  return found;
}

}  // namespace

TEST_CASE("the record of a job has its commands and hosts, and its start in UTC") {
  JsonJob job;
  job.id = "id";
  job.began_unix_ms = 1'000'000'000'007;
  job.commands = {{"./a", "x y"}, {"./b"}};
  job.hosts = {"n1", "n2"};
  job.ranks = 3;
  CHECK(job_record(job) ==
        R"({"type":"job","schema":1,"job":"id","started":"2001-09-09T01:46:40.007Z",)"
        R"("commands":[["./a","x y"],["./b"]],"hosts":["n1","n2"],"ranks":3,)"
        "\"once_per_host\":false}\n");
}

TEST_CASE("a line of output says if it is whole") {
  CHECK(output_record(3, "n1", "stdout", "a\n") ==
        R"({"type":"output","rank":3,"host":"n1","stream":"stdout","line":"a","whole":true})"
        "\n");
  CHECK(output_record(3, "n1", "stderr", "a") ==
        R"({"type":"output","rank":3,"host":"n1","stream":"stderr","line":"a","whole":false})"
        "\n");
}

TEST_CASE("the failure of a host's lowest rank is the host's, and else the end of the job is") {
  JsonResult result = three_hosts();
  result.outcomes = {group(0, 1, Kind::exited), group(1, 1, Kind::killed_by_us),
                     group(2, 1, Kind::exited, 4), group(3, 1, Kind::not_found, 0, "./p"),
                     group(4, 2, Kind::exited)};
  result.usage[0].run_us = 5;
  result.usage[1].run_us = 7;
  const auto hosts = lines_with(end_records(result, JobOutcome()), R"("type":"host")");
  REQUIRE(hosts.size() == 3);
  CHECK(hosts[0] ==
        R"({"type":"host","host":"a","status":"ended","phase":null,"cause":null,"ranks":"0-1",)"
        R"("seconds":0.000007})");
  CHECK(hosts[1] == R"({"type":"host","host":"b","status":"failed","phase":"running",)"
                    R"("cause":"rank 2 exited with code 4","ranks":"2-3","seconds":null})");
  CHECK(hosts[2].find(R"("status":"ok")") != std::string::npos);
}

TEST_CASE("ranks have their own messages, whatever the others of their status say") {
  JsonResult result = three_hosts();
  result.outcomes = {group(1, 1, Kind::not_found, 0, "one"),
                     group(0, 1, Kind::not_found, 0, "zero")};
  const auto ranks = lines_with(end_records(result, JobOutcome()), R"("type":"rank")");
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].find("program not found: zero") != std::string::npos);
  CHECK(ranks[1].find("program not found: one") != std::string::npos);
}

TEST_CASE(
    "hosts that are missing have a record, whether or not they are in the tree, and one only") {
  JsonResult result = three_hosts();
  result.outcomes = {group(0, 6, Kind::exited)};
  result.missing = {
      {"b", "connect", "refused"}, {"z", "resolve", "unknown"}, {"z", "connect", "no"}};
  result.lost = {{"c", "running", "silent"}};
  const std::string text = end_records(result, JobOutcome());
  const auto hosts = lines_with(text, R"("type":"host")");
  REQUIRE(hosts.size() == 4);
  CHECK(hosts[1].find(R"("status":"missing","phase":"connect","cause":"refused")") !=
        std::string::npos);
  CHECK(hosts[2].find(R"("status":"lost","phase":"running","cause":"silent")") !=
        std::string::npos);
  CHECK(hosts[3].find(R"("host":"z","status":"missing","phase":"resolve")") != std::string::npos);
  CHECK(lines_with(text, R"("hosts":{"lost":1,"missing":2,"ok":1})").size() == 1);
}

TEST_CASE("once per host, a rank is lost if its host was lost, whatever the rank did") {
  JsonResult result = three_hosts();
  result.outcomes = {group(0, 6, Kind::exited)};
  JobOutcome job;
  job.once_per_host = true;
  job.lost = RankSet::single(2);
  CHECK(lines_with(end_records(result, job), R"("ranks":{"lost":1,"ok":5})").size() == 1);
}

TEST_CASE("a host of which no rank has run is ended, and not ok") {
  JsonResult result = three_hosts();
  result.outcomes = {group(0, 2, Kind::exited), group(2, 1, Kind::exited)};
  JobOutcome job;
  job.interrupted = 2;
  const std::string text = end_records(result, job);
  const auto hosts = lines_with(text, R"("type":"host")");
  REQUIRE(hosts.size() == 3);
  CHECK(hosts[2] ==
        R"({"type":"host","host":"c","status":"ended","phase":null,"cause":null,"ranks":"4-5",)"
        R"("seconds":null})");
  CHECK(lines_with(text, R"("hosts":{"ended":1,"ok":2})").size() == 1);
}

TEST_CASE("no host is ok if the job ended before its ranks were started") {
  JobOutcome job;
  job.timed_out = std::chrono::seconds(3);
  const std::string text = end_records(three_hosts(), job);
  CHECK(lines_with(text, R"("hosts":{"ended":3},"ranks":{})").size() == 1);
}

TEST_CASE("the last record has the exit status, its cause and the phases that were reached") {
  JsonResult result = three_hosts();
  result.outcomes = {group(0, 6, Kind::killed_by_us)};
  result.phases = {{"tree", 1500}, {"launch", std::nullopt}};
  JobOutcome job;
  job.interrupted = 2;
  const auto last = lines_with(end_records(result, job), R"("type":"end")");
  REQUIRE(last.size() == 1);
  CHECK(last[0] ==
        R"({"type":"end","exit_status":130,)"
        R"("cause":"interrupted by signal 2 (SIGINT, Interrupt); the job was ended",)"
        R"("hosts":{"ended":3},"ranks":{"ended":6},"seconds":{"tree":0.001500,"launch":null}})");
}

}  // namespace json_records_test
