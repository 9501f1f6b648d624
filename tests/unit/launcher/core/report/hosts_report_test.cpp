#include "launcher/core/report/hosts_report.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

namespace hosts_report_test {

using namespace scela;

namespace {

using Kind = RankOutcome::Kind;

RankOutcome of_kind(Kind kind, int code = 0, std::string message = "") {
  return {.kind = kind, .code = code, .message = std::move(message)};
}

// Returns a job on node001 to node040, all of which succeeded.
JobOutcome forty_hosts() {
  JobOutcome job;
  job.once_per_host = true;
  for (int i = 1; i <= 40; ++i) {
    const std::string number = std::to_string(i);
    job.hosts.push_back("node" + std::string(3 - number.size(), '0') + number);
  }
  return job;
}

}  // namespace

TEST_CASE("hosts that all do well are a silent success, unless the user wants to hear of it") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 40), of_kind(Kind::exited));
  CHECK(exit_status(job) == 0);
  CHECK(verdict_text(job).empty());
  job.report_all = true;
  CHECK(verdict_text(job) == "scela-run: ok 40 (node[001-040])\n");
}

TEST_CASE("the summary counts the ways to end and names every host once") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 40).minus(RankSet::single(6)).minus(RankSet::single(8)),
          of_kind(Kind::exited));
  job.add(6, of_kind(Kind::exited, 1));
  job.add(8, of_kind(Kind::timed_out));
  job.missing = {{"node041", "connect", "Connection refused"}};
  CHECK(verdict_text(job) ==
        "scela-run:   node041 unreachable (connect): Connection refused\n"
        "scela-run: ok 38 (node[001-006,008,010-040]) · exit 1: 1 (node007) · "
        "timed out 1 (node009) · unreachable 1 (node041)\n");
}

TEST_CASE("a rule decides how failures of hosts become the exit status") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 36), of_kind(Kind::exited));
  job.add(36, of_kind(Kind::exited, 3));
  job.add(37, of_kind(Kind::timed_out));
  job.add(38, of_kind(Kind::killed_by_us));
  job.first = JobOutcome::FirstFailure{36, "node037", "x", of_kind(Kind::exited, 3)};
  job.missing = {{"node040", "resolve", "unknown"}};
  const auto by = [&](StatusRule rule) {
    job.rule = rule;
    return exit_status(job);
  };
  CHECK(by(StatusRule::automatic) == 124);
  CHECK(by(StatusRule::largest) == 124);
  CHECK(by(StatusRule::first) == 68);  // a host that was not reached comes before all programs
  CHECK(by(StatusRule::count) == 3);
  CHECK(by(StatusRule::ignore) == 0);
  job.missing.clear();
  CHECK(by(StatusRule::first) == 3);
  CHECK(by(StatusRule::count) == 2);
  job.timed_out = std::chrono::seconds(1);
  CHECK(by(StatusRule::ignore) == 124);
}

TEST_CASE("the exit status of hosts is the largest of them") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 38), of_kind(Kind::exited));
  job.add(38, of_kind(Kind::exited, 3));
  job.add(39, of_kind(Kind::exited, 2));
  CHECK(exit_status(job) == 3);
  job.missing = {{"node041", "resolve", "unknown"}};
  CHECK(exit_status(job) == kExitUnreachable);
  job.groups[1].outcome = of_kind(Kind::timed_out);
  CHECK(exit_status(job) == kExitTimeout);
  job.groups[1].outcome = {.kind = Kind::signaled, .signal = SIGKILL, .message = {}};
  CHECK(exit_status(job) == 137);
  CHECK(verdict_text(job).find("killed by SIGKILL: 1 (node039)") != std::string::npos);
  job.interrupted = SIGINT;
  CHECK(exit_status(job) == 130);
}

TEST_CASE("a host that was missed counts once, whatever its rank was given") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 39), of_kind(Kind::exited));
  job.add(39, of_kind(Kind::lost, 0, "its node has no agent: refused"));
  job.missing = {{"node040", "authenticate", "refused"}};
  CHECK(verdict_text(job) ==
        "scela-run:   node040 unreachable (authenticate): refused\n"
        "scela-run: ok 39 (node[001-039]) · unreachable 1 (node040)\n");
  CHECK(exit_status(job) == kExitUnreachable);
}

TEST_CASE("a host that lost its agent did not do well, even if its command did") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 40), of_kind(Kind::exited));
  job.lost = RankSet::single(2);
  CHECK(verdict_text(job) == "scela-run: ok 39 (node[001-002,004-040]) · lost 1 (node003)\n");
  CHECK(exit_status(job) == kExitUnreachable);
}

TEST_CASE("hosts missed for one reason share a line, and many reasons do not scroll the summary") {
  JobOutcome job = forty_hosts();
  job.hosts.clear();
  for (int i = 0; i < 100; ++i) {
    job.missing.push_back({"a" + std::to_string(i), "connect", "No route to host"});
    job.missing.push_back({"b" + std::to_string(i), "resolve", "reason " + std::to_string(i)});
  }
  const std::string text = verdict_text(job);
  CHECK(text.find("a[0-99] unreachable (connect): No route to host\n") != std::string::npos);
  INFO(text);
  CHECK(text.find("unreachable for other reasons\n") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') < 20);
  CHECK(text.ends_with("scela-run: unreachable 200 (a[0-99],b[0-99])\n"));
}

TEST_CASE("a job that is interrupted says so last, and which hosts never ran") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 30), of_kind(Kind::killed_by_us));
  job.interrupted = SIGINT;
  CHECK(verdict_text(job) ==
        "scela-run: ended with the job 30 (node[001-030]) · not run 10 (node[031-040])\n"
        "scela-run: interrupted by signal 2 (SIGINT, Interrupt); the job was ended\n");
}

TEST_CASE("why a program did not start is told for the hosts that have it in common") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 40), of_kind(Kind::not_found, 0, "find 'x' in /bin"));
  CHECK(verdict_text(job) ==
        "scela-run:   node[001-040] not started, program not found: find 'x' in /bin\n"
        "scela-run: program not found 40 (node[001-040])\n");
  CHECK(exit_status(job) == kExitNotFound);
}

TEST_CASE("a job of ranks that did without some hosts says which ones") {
  JobOutcome job;
  job.add(RankSet::run(0, 4), of_kind(Kind::exited));
  job.missing = {{"n2", "connect", "No route to host"}};
  CHECK(exit_status(job) == 0);
  CHECK(verdict_text(job) == "scela-run:   n2 unreachable (connect): No route to host\n");
}

TEST_CASE("hosts that failed for one cause share a line, though their texts name each of them") {
  JobOutcome job = forty_hosts();
  job.hosts.clear();
  for (int i = 1; i <= 30; ++i) {
    const std::string name = "un" + std::to_string(i);
    job.missing.push_back({name, "host key", "no key of " + name + " is known",
                           "connect once with 'ssh " + name + "'"});
    job.missing.push_back({"v" + std::to_string(i), "connect",
                           "10.0.0." + std::to_string(i) + " port 22 does not answer"});
  }
  CHECK(verdict_text(job) ==
        "scela-run:   un[1-30] unreachable (host key): no key of HOST is known (connect once with "
        "'ssh HOST')\n"
        "scela-run:   v[1-30] unreachable (connect): ADDRESS port 22 does not answer\n"
        "scela-run: unreachable 60 (un[1-30],v[1-30])\n");
}

TEST_CASE("processes that commands left running are named with their hosts, also if all did well") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 40), of_kind(Kind::exited));
  for (const char* const host : {"node001", "node002", "node001"})
    job.add_left_running(host, "sleep");
  CHECK(verdict_text(job) ==
        "scela-run:   node[001-002] had processes left running, now ended: sleep (--keep leaves "
        "them)\n");
  CHECK(exit_status(job) == 0);
}

TEST_CASE("a program that was not found is told with what to do about it") {
  JobOutcome job = forty_hosts();
  job.add(RankSet::run(0, 40), of_kind(Kind::not_found, 0, "find 'b' in /bin"));
  job.not_found_hint = "if 'b' is a host, write -w a,b before the command";
  CHECK(verdict_text(job).find("find 'b' in /bin (if 'b' is a host, write -w a,b before the "
                               "command)\n") != std::string::npos);
}

}  // namespace hosts_report_test
