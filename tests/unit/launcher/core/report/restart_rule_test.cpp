#include "launcher/core/report/restart_rule.h"

#include <catch2/catch.hpp>

namespace restart_rule_test {

using namespace scela;

namespace {

JobOutcome failed(RankOutcome::Kind kind, int code = 1) {
  JobOutcome job;
  RankOutcome outcome;
  outcome.kind = kind;
  outcome.code = outcome.signal = code;
  job.first = JobOutcome::FirstFailure{3, "n1", "./p", outcome};
  job.add(3, outcome);
  return job;
}

}  // namespace

TEST_CASE("a rank that failed is a reason to start again, and hosts that are there stay") {
  using Kind = RankOutcome::Kind;
  for (const Kind kind : {Kind::exited, Kind::signaled, Kind::aborted, Kind::unfinalized,
                          Kind::lost, Kind::broke_protocol}) {
    const RestartRule rule = restart_rule(failed(kind, 9), {});
    CHECK(rule.may_help);
    CHECK(rule.lost.empty());
  }
}

TEST_CASE("a program that cannot be started, and a job that went well, are no reason") {
  using Kind = RankOutcome::Kind;
  for (const Kind kind : {Kind::not_found, Kind::not_executable, Kind::not_started})
    CHECK_FALSE(restart_rule(failed(kind), {}).may_help);
  CHECK_FALSE(restart_rule(JobOutcome(), {}).may_help);
}

TEST_CASE("a signal of the user and a time limit end a job for good") {
  JobOutcome interrupted = failed(RankOutcome::Kind::exited);
  interrupted.interrupted = 2;
  CHECK_FALSE(restart_rule(interrupted, {}).may_help);
  JobOutcome late = failed(RankOutcome::Kind::exited);
  late.timed_out = std::chrono::seconds(1);
  CHECK_FALSE(restart_rule(late, {}).may_help);
}

TEST_CASE("hosts that were lost are left out once each, and an error needs one of them") {
  JobOutcome job = failed(RankOutcome::Kind::lost);
  job.failed_nodes = {"n1", "n2", "n1"};
  job.missing = {{"n3", "connect", "no route"}, {"n0", "connect", "no route"}};
  const RestartRule rule = restart_rule(job, {{"n0", "connect", "no route"}});
  CHECK(rule.may_help);
  REQUIRE(rule.lost.size() == 3);
  CHECK(rule.lost[0].host == "n3");
  CHECK(rule.lost[1].host == "n1");
  CHECK(rule.lost[2].host == "n2");

  job.cut_off_nodes = {"n2"};  // its parent agent, on n1, was lost
  CHECK(restart_rule(job, {}).lost.back().host == "n1");

  JobOutcome error;
  error.error = Error{ErrorKind::unreachable, "start its agent", "n4", "no route", ""};
  CHECK_FALSE(restart_rule(error, {}).may_help);
  error.failed_nodes = {"n4"};
  CHECK(restart_rule(error, {}).may_help);
  CHECK_FALSE(restart_rule(error, {{"n4", "running", "lost"}}).may_help);
  error.error->kind = ErrorKind::io;
  CHECK_FALSE(restart_rule(error, {}).may_help);
}

TEST_CASE("one line tells of a restart: which it is, without which hosts, and the reason") {
  JobOutcome job = failed(RankOutcome::Kind::exited, 7);
  CHECK(restart_line(1, 3, restart_rule(job, {}), job) ==
        "scela-run: restart 1 of 3: rank 3 on n1 (./p) exited with code 7\n");
  CHECK(restart_line(0, 3, restart_rule(job, {}), job).starts_with("scela-run: start: rank 3"));
  job.failed_nodes = {"n1", "n2"};
  CHECK(restart_line(2, 3, restart_rule(job, {}), job) ==
        "scela-run: restart 2 of 3 without n[1-2]: rank 3 on n1 (./p) exited with code 7\n");
}

}  // namespace restart_rule_test
