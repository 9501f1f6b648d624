#include "launcher/core/report/job_report.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>

#include "launcher/core/report/report_text.h"

namespace job_report_test {

using namespace scela;
using namespace std::chrono_literals;

namespace {

using Kind = RankOutcome::Kind;

RankOutcome exited(int code) {
  return {.kind = Kind::exited, .code = code, .message = {}};
}
RankOutcome killed(int signal, bool core = false) {
  return {.kind = Kind::signaled, .signal = signal, .core_dumped = core, .message = {}};
}
RankOutcome of_kind(Kind kind, std::string message = "", int code = 0) {
  return {.kind = kind, .code = code, .message = std::move(message)};
}

// Returns a job of 16 ranks in which rank 5 failed first. The others were ended with it.
JobOutcome failed_job(const RankOutcome& outcome) {
  JobOutcome job;
  job.add(RankSet::run(0, 5), of_kind(Kind::killed_by_us));
  job.add(5, outcome);
  job.add(RankSet::run(6, 10), of_kind(Kind::killed_by_us));
  job.first = JobOutcome::FirstFailure{5, "node2", "./a.out", outcome};
  return job;
}

std::string last_line(const std::string& text) {
  REQUIRE_FALSE(text.empty());
  REQUIRE(text.back() == '\n');
  const auto start = text.rfind('\n', text.size() - 2);
  return text.substr(start == std::string::npos ? 0 : start + 1);
}

}  // namespace

TEST_CASE("a job is a silent success if all ranks exit with 0") {
  JobOutcome job;
  job.add(RankSet::run(0, 16), exited(0));
  CHECK(exit_status(job) == 0);
  CHECK(verdict_text(job).empty());
}

TEST_CASE("the first failing rank's code is the job's, with one line that names the rank") {
  const JobOutcome job = failed_job(exited(3));
  CHECK(exit_status(job) == 3);
  CHECK(verdict_text(job) ==
        "scela-run:   1 rank exited with code 3: 5\n"
        "scela-run:   15 ranks ended with the job: 0-4,6-15\n"
        "scela-run: rank 5 on node2 (./a.out) exited with code 3\n");
}

TEST_CASE("a signal gives 128 plus its number, its name, and whether a core was dumped") {
  CHECK(exit_status(failed_job(killed(SIGSEGV, true))) == 139);
  CHECK(last_line(verdict_text(failed_job(killed(SIGSEGV, true)))) ==
        "scela-run: rank 5 on node2 (./a.out) killed by signal 11 (SIGSEGV, Segmentation fault), "
        "core dumped\n");
  CHECK(exit_status(failed_job(killed(SIGKILL))) == 137);
  CHECK(last_line(verdict_text(failed_job(killed(SIGKILL)))) ==
        "scela-run: rank 5 on node2 (./a.out) killed by signal 9 (SIGKILL, Killed), "
        "no core dumped\n");
  CHECK(signal_text(40) == "signal 40");
}

TEST_CASE("a rule decides how failures of ranks become the exit status") {
  JobOutcome job = failed_job(exited(3));
  job.add(0, exited(9));
  job.add(1, killed(SIGTERM));
  const auto by = [&](StatusRule rule) {
    job.rule = rule;
    return exit_status(job);
  };
  CHECK(by(StatusRule::automatic) == 3);
  CHECK(by(StatusRule::first) == 3);
  CHECK(by(StatusRule::largest) == 128 + SIGTERM);
  CHECK(by(StatusRule::count) == 3);
  CHECK(by(StatusRule::ignore) == 0);
  job.add(RankSet::run(100, 100), exited(9));
  CHECK(by(StatusRule::count) == kMaxCount);
  job.error = Error{ErrorKind::io, "", "", "", ""};
  for (const auto rule :
       {StatusRule::first, StatusRule::largest, StatusRule::count, StatusRule::ignore})
    CHECK(by(rule) == kExitOutput);
}

TEST_CASE("the last line says how many ranks failed if their number is the exit status") {
  JobOutcome job = failed_job(exited(3));
  const std::string cause = cause_of_end(job);
  job.rule = StatusRule::count;
  CHECK(cause_of_end(job) == cause + " (1 rank failed)");
  job.add(RankSet::run(100, 200), exited(9));
  CHECK(cause_of_end(job) == cause + " (201 ranks failed)");
  job.timed_out = std::chrono::seconds(1);
  CHECK(cause_of_end(job).ends_with("was ended"));
}

TEST_CASE("a job that was ended without a cause is no success, unless failures are ignored") {
  JobOutcome job;
  job.add(RankSet::run(0, 2), of_kind(Kind::killed_by_us));
  job.rule = StatusRule::count;
  CHECK(exit_status(job) == 1);
  job.rule = StatusRule::largest;
  CHECK(exit_status(job) == kExitInternal);
  job.rule = StatusRule::ignore;
  CHECK(exit_status(job) == 0);
}

TEST_CASE("the first failure in time counts, not the lowest rank") {
  JobOutcome job = failed_job(exited(3));
  job.add(0, exited(9));
  CHECK(exit_status(job) == 3);
  job.first.reset();
  CHECK(exit_status(job) == 9);
  CHECK(last_line(verdict_text(job)) == "scela-run: rank 0 exited with code 9\n");
}

TEST_CASE("Ctrl-C, SIGTERM and the time limit decide before the ranks do") {
  JobOutcome job = failed_job(killed(SIGTERM));
  job.timed_out = 90s;
  CHECK(exit_status(job) == 124);
  CHECK(last_line(verdict_text(job)) ==
        "scela-run: the job reached its time limit of 90 s (--timeout) and was ended\n");
  job.interrupted = SIGINT;
  CHECK(exit_status(job) == 130);
  CHECK(last_line(verdict_text(job)) ==
        "scela-run: interrupted by signal 2 (SIGINT, Interrupt); the job was ended\n");
  job.interrupted = SIGTERM;
  CHECK(exit_status(job) == 143);
}

TEST_CASE("a program that cannot be executed has the shells' codes") {
  CHECK(RankOutcome::exec_failed(ENOENT).kind == Kind::not_found);
  CHECK(exit_status(failed_job(RankOutcome::exec_failed(ENOENT))) == 127);
  CHECK(exit_status(failed_job(RankOutcome::exec_failed(ENOTDIR))) == 127);
  CHECK(exit_status(failed_job(RankOutcome::exec_failed(EACCES))) == 126);
  CHECK(exit_status(failed_job(RankOutcome::exec_failed(ENOEXEC))) == 126);
  CHECK(exit_status(failed_job(RankOutcome::exec_failed(ENOMEM))) == 71);
  CHECK(last_line(verdict_text(failed_job(RankOutcome::exec_failed(EACCES)))) ==
        "scela-run: rank 5 on node2 (./a.out) not started, program cannot be executed: "
        "Permission denied (EACCES)\n");
}

TEST_CASE("every other way to fail has its status and its words") {
  CHECK(exit_status(failed_job(of_kind(Kind::unfinalized))) == 1);
  CHECK(exit_status(failed_job(of_kind(Kind::broke_protocol))) == 1);
  CHECK(exit_status(failed_job(of_kind(Kind::not_started))) == 71);
  CHECK(exit_status(failed_job(of_kind(Kind::lost))) == 68);
  CHECK(exit_status(failed_job(of_kind(Kind::aborted, "", 42))) == 42);
  CHECK(exit_status(failed_job(of_kind(Kind::aborted, "", 0))) == 1);
  CHECK(exit_status(failed_job(of_kind(Kind::aborted, "", 256))) == 1);
  CHECK(last_line(verdict_text(failed_job(of_kind(Kind::aborted, "no input", 42)))) ==
        "scela-run: rank 5 on node2 (./a.out) aborted the job with code 42: no input\n");
  CHECK(last_line(verdict_text(failed_job(of_kind(Kind::unfinalized)))) ==
        "scela-run: rank 5 on node2 (./a.out) ended without finalizing\n");
  CHECK(cause_text(of_kind(Kind::lost, "no heartbeat for 5 s")) ==
        "lost with its node: no heartbeat for 5 s");
}

TEST_CASE("errors of scela-run itself have one status per kind") {
  CHECK(exit_status(ErrorKind::usage) == 64);
  CHECK(exit_status(ErrorKind::unreachable) == 68);
  CHECK(exit_status(ErrorKind::internal) == 70);
  CHECK(exit_status(ErrorKind::protocol) == 70);
  CHECK(exit_status(ErrorKind::launch) == 71);
  CHECK(exit_status(ErrorKind::io) == 74);
  JobOutcome job;
  job.error = Error{ErrorKind::io, "write standard output", "", "No space left on device", ""};
  CHECK(exit_status(job) == 74);
  CHECK(verdict_text(job) == "scela-run: write standard output: No space left on device\n");
}

TEST_CASE("ranks that were ended without a known cause are no success") {
  JobOutcome job;
  job.add(RankSet::run(0, 4), of_kind(Kind::killed_by_us));
  CHECK(exit_status(job) == 70);
  CHECK_FALSE(verdict_text(job).empty());
}

TEST_CASE("every status that scela-run can end with stands in the exit table") {
  const auto has = [](std::string_view code) {
    for (const ExitRow& row : exit_table()) {
      if (row.code == code) return true;
    }
    return false;
  };
  for (const int status : {0, 1, 64, 68, 70, 71, 74, 124, 126, 127}) {
    INFO(status);
    CHECK(has(std::to_string(status)));
  }
  CHECK(has("128+N"));
  CHECK(has("other"));
  CHECK(exit_table().size() == 12);
}

TEST_CASE("the summary is short however many ways there are to fail") {
  JobOutcome job;
  for (Rank rank = 0; rank < 200; ++rank)
    job.add(rank, exited(static_cast<int>(1 + rank % 100)));
  job.first = JobOutcome::FirstFailure{7, "n", "p", exited(8)};
  const std::string text = verdict_text(job);
  CHECK(std::count(text.begin(), text.end(), '\n') == 7);
  CHECK(text.find("190 ranks otherwise: ") != std::string::npos);
  CHECK(last_line(text) == "scela-run: rank 7 on n (p) exited with code 8\n");
}

TEST_CASE("rank sets in the summary are folded and cut") {
  JobOutcome job;
  RankSet odd;
  for (Rank rank = 1; rank < 1000; rank += 2)
    odd.add(rank);
  job.add(odd, exited(1));
  job.first = JobOutcome::FirstFailure{1, "n", "p", exited(1)};
  const std::string text = verdict_text(job);
  CHECK(text.find("500 ranks exited with code 1: 1,3,5,") != std::string::npos);
  CHECK(text.find("...\n") != std::string::npos);
  CHECK(text.size() < 250);
}

TEST_CASE("a summary of a single rank would say nothing and is left out") {
  JobOutcome job;
  job.add(0, exited(2));
  job.first = JobOutcome::FirstFailure{0, "here", "false", exited(2)};
  CHECK(verdict_text(job) == "scela-run: rank 0 on here (false) exited with code 2\n");
}

TEST_CASE("failed nodes are folded into one line") {
  JobOutcome job = failed_job(of_kind(Kind::lost));
  job.failed_nodes = {"node3", "node1", "node2"};
  CHECK(verdict_text(job).find("scela-run:   failed nodes: node[1-3]\n") != std::string::npos);
  CHECK(verdict_text(job).find("1 rank lost with its node: 5\n") != std::string::npos);
  job.add(RankSet::run(16, 2), of_kind(Kind::lost));
  CHECK(verdict_text(job).find("3 ranks lost with their nodes: 5,16-17\n") != std::string::npos);
}

TEST_CASE("outcomes that differ in their message only are one group with the first rank's") {
  JobOutcome job;
  job.add(4, of_kind(Kind::aborted, "four", 1));
  job.add(2, of_kind(Kind::aborted, "two", 1));
  job.add(3, of_kind(Kind::aborted, "three", 1));
  REQUIRE(job.groups.size() == 1);
  CHECK(job.groups[0].ranks.text() == "2-4");
  CHECK(job.groups[0].outcome.message == "two");
}

TEST_CASE("a message from a rank can neither add lines nor write to the terminal") {
  const std::string text =
      cause_text(of_kind(Kind::aborted, "bad\nnews\x1b[2J" + std::string(1000, 'x'), 1));
  CHECK(text.find("bad news?[2Jxxx") != std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.size() < 400);
}

TEST_CASE("texts of nodes and ranks are printed without terminal control characters") {
  CHECK(printable("a\tb\r\nc\n") == "a b  c");
  CHECK(printable("\x1b[31mred\x07\x7f") == "?[31mred??");
  // U+009B, which is CSI, and its neighbours are control characters. U+00A0 is the first that is
  // none.
  CHECK(printable("a\xc2\x9b"
                  "31mb") == "a?31mb");
  CHECK(printable("\xc2\x80\xc2\x9f\xc2\xa0") == "??\xc2\xa0");
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  // These bytes are no UTF-8: alone, overlong, a surrogate, beyond the last character, cut short.
  CHECK(printable("\x9b"
                  "31m") == "?31m");
  CHECK(printable("\xc0\x9b") == "??");
  CHECK(printable("\xe0\x82\x9b") == "???");
  CHECK(printable("\xed\xa0\x80") == "???");
  CHECK(printable("\xf4\x90\x80\x80") == "????");
  CHECK(printable("x\xe2\x82") == "x??");
  // U+202E, U+2066 and U+2028 change the direction or end a line. U+2027 and U+202F do not.
  CHECK(printable("a\xe2\x80\xae"
                  "b\xe2\x81\xa6"
                  "c\xe2\x80\xa8") == "a?b?c?");
  CHECK(printable("\xe2\x80\xa7\xe2\x80\xaf") == "\xe2\x80\xa7\xe2\x80\xaf");
  CHECK(printable(std::string(300, 'a')) == std::string(300, 'a'));
  CHECK(printable(std::string(301, 'a')) == std::string(300, 'a') + "...");
  CHECK(printable("abc", 2) == "ab...");
  CHECK(printable("a\xc3\xbc", 2) == "a...");
}

}  // namespace job_report_test
