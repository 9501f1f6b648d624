// The state in which a rank begins, and the agent's report of a rank that cannot begin.
#include <signal.h>

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "common/os/private_dir.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "nla/core/record/record.h"
#include "nla/io/shell_settings.h"
#include "tests/e2e/agent/fake_parent.h"
#include "tests/support/eventually.h"
#include "tests/unit/common/os/child_run.h"

namespace rank_test {

using namespace scela;
using namespace scela::test;
namespace msg = nla::msg;

namespace {

std::set<std::string> environment_of(pid_t pid) {
  std::istringstream in(read_small_file(cat("/proc/", pid, "/environ").c_str()));
  std::set<std::string> variables;
  for (std::string one; std::getline(in, one, '\0');)
    variables.insert(one);
  return variables;
}

// Returns the outcome that the agent reports for the job's only rank.
nla::Outcome outcome_of(const nla::Job& job, FakeParent& parent) {
  parent.send(msg::JobBytes{true, Chunk(nla::encode(job))});
  const auto verdicts = parent.expect<msg::Verdicts>();
  REQUIRE(verdicts);
  REQUIRE(verdicts->groups.size() == 1);
  return verdicts->groups.front().first;
}

}  // namespace

TEST_CASE("a rank has descriptors 0 to 3 and no other") {
  FakeParent parent;
  REQUIRE(parent.bring_up(2));  // the agent holds links, too
  nla::Job job = parent.job_of({"/bin/sleep", "1000"}, 4);
  job.stdin_ranks = RankSet::single(1);
  REQUIRE(parent.launch(job));
  const std::vector<pid_t> ranks = parent.ranks();
  REQUIRE(ranks.size() == 4);
  const std::set<std::string> expected = {"0", "1", "2", "3"};
  for (const pid_t rank : ranks) {
    // The program's loader opens files for a moment; a descriptor that leaked would stay open.
    CHECK(eventually([&] { return names_in(cat("/proc/", rank, "/fd")) == expected; }));
  }
}

TEST_CASE("a rank's environment has its number and hides other servers") {
  FakeParent parent;
  REQUIRE(parent.bring_up(2));
  nla::Job job = parent.job_of({"/bin/sleep", "1000"}, 2);
  job.env.push_back("FROM=job");
  job.env.push_back("ONLY=job");
  job.apps.front().env = {"FROM=app"};
  REQUIRE(parent.launch(job));
  const pid_t agent = children_of(parent.child_guardian()).front();
  const std::vector<pid_t> ranks = children_of(agent);
  REQUIRE(ranks.size() == 2);
  const std::string directory = cat("/scela-", ::getuid(), "-", parent.job_id(), "-node1");
  // A program that has just replaced the agent's image has no environment for a moment.
  std::set<std::string> variables;
  REQUIRE(eventually([&] { return !(variables = environment_of(ranks.back())).empty(); }));
  for (const char* expected :
       {"SCELA_RANK=3", "SCELA_SIZE=4", "SCELA_LOCAL_RANK=1", "SCELA_LOCAL_SIZE=2",
        "SCELA_NODE=node1", "SCELA_NODE_INDEX=1", "PMI_RANK=3", "PMI_SIZE=4", "PMI_FD=3",
        "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "FROM=app", "ONLY=job"}) {
    INFO(expected);
    CHECK(variables.contains(expected));
  }
  CHECK(variables.contains(cat("SCELA_JOB_ID=", parent.job_id())));
  for (const std::string& variable : variables) {
    CHECK_FALSE(variable.starts_with("PMI_PORT"));
    CHECK(variable != "FROM=job");
    if (variable.starts_with("SCELA_NODE_DIR=")) CHECK(variable.ends_with(directory));
  }
}

TEST_CASE("a rank leads a session of its own, which the kernel gives a share of its own") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch("exec sleep 1000", 2));
  for (const pid_t rank : parent.ranks()) {
    ProcessFacts facts;
    REQUIRE(facts_of(rank, facts));
    CHECK(facts.group == rank);
    CHECK(facts.session == rank);
  }
}

TEST_CASE("a rank with a terminal leads a session on it, and all that it writes is one stream") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  nla::Job job = parent.job_of({"/bin/sh", "-c",
                                "stty size; until [ \"$(stty size)\" = '50 200' ]; do :; done; "
                                "stty size >&2; read line; echo $line; cat"},
                               2);
  job.terminal_ranks = RankSet::single(0);
  job.stdin_ranks = RankSet::single(0);
  job.window = {33, 101, 0, 0};
  job.modes.echo = false;
  REQUIRE(parent.launch(job));
  const auto says = [&](const std::string& text) {
    std::string said;
    while (said.find(text) == std::string::npos) {
      const auto output = parent.expect<msg::Output>();
      if (!output) return false;
      if (output->rank != 0 || output->stream != nla::Stream::out) continue;
      said += output->bytes.view();
    }
    return true;
  };
  CHECK(says("33 101\r\n"));
  parent.send(msg::Resize{{50, 200, 0, 0}});
  CHECK(says("50 200\r\n"));
  parent.send(msg::Stdin{false, Chunk(std::string("a word\n"))});
  CHECK(says("a word\r\n"));
  const auto taken = parent.expect<msg::StdinTaken>();
  REQUIRE(taken);
  CHECK(taken->bytes == 7);
  parent.send(msg::Stdin{true, {}});
  const auto verdicts = parent.expect<msg::Verdicts>();
  CHECK(verdicts);
}

TEST_CASE("signals reach the foreground processes of a rank's terminal") {
  FakeParent parent(Parentage::child, 60000);
  REQUIRE(parent.bring_up());
  // A shell with job control gives what it runs a process group of its own.
  nla::Job job = parent.job_of({"/bin/sh", "-c",
                                "trap : USR1; set -m; sh -c 'trap \"echo told\" USR1; echo up; "
                                "while :; do sleep 0.01; done'"},
                               1);
  job.terminal_ranks = RankSet::single(0);
  REQUIRE(parent.launch(job));
  std::string said;
  const auto says = [&](const std::string& text) {
    while (said.find(text) == std::string::npos) {
      const auto output = parent.expect<msg::Output>();
      if (!output) return false;
      said += output->bytes.view();
    }
    return true;
  };
  CHECK(says("up\r\n"));
  parent.send(msg::Signal{SIGUSR1});
  CHECK(says("told"));
}

TEST_CASE("ranks bound to cores take those of their node's share") {
  FakeParent parent;
  nla::Settings settings;
  settings.shares = 2;
  REQUIRE(parent.bring_up(2, nla::format(settings)));
  nla::Job job = parent.job_of({"/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status"}, 1);
  job.placement.bind_to = BindTo::core;
  job.placement.overload = true;
  REQUIRE(parent.launch(job));
  std::istringstream lines(parent.output_of_all());
  std::set<std::string> cpus;
  for (std::string line; std::getline(lines, line);)
    cpus.insert(line);
  CHECK(cpus.size() == std::min<std::size_t>(2, allowed_cpus().size()));
}

TEST_CASE("a program that is missing is told with its name and where it was looked for") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  nla::Job job = parent.job_of({"no-such-program"}, 1);
  job.apps.front().path = "/extra/place";
  const nla::Outcome outcome = outcome_of(job, parent);
  CHECK(outcome.ending == nla::Ending::not_started);
  CHECK(outcome.code == ENOENT);
  CHECK(outcome.why.find("find 'no-such-program': ") == 0);
  CHECK(outcome.why.find("PATH=/extra/place:") != std::string::npos);
  CHECK(outcome.why.find("ENOENT") != std::string::npos);
}

TEST_CASE("a program without execute permission and a missing directory are told apart") {
  FakeParent first;
  REQUIRE(first.bring_up());
  const nla::Outcome denied = outcome_of(first.job_of({"/etc/passwd"}, 1), first);
  CHECK(denied.code == EACCES);
  CHECK(denied.why.find("execute '/etc/passwd'") == 0);

  FakeParent second;
  REQUIRE(second.bring_up());
  nla::Job job = second.job_of({"/bin/true"}, 1);
  job.apps.front().wdir = "/no/such/directory";
  const nla::Outcome lost = outcome_of(job, second);
  CHECK(lost.code == EIO);  // not ENOENT: the program is there
  CHECK(lost.why.find("enter the working directory '/no/such/directory'") == 0);
}

TEST_CASE("more ranks than a node can hold are refused at once, with the limit and the advice") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  nla::Job job = parent.job_of({"/bin/true"}, 1u << 24);
  job.on_failure = nla::OnFailure::wait;
  const nla::Outcome outcome = outcome_of(job, parent);
  CHECK(outcome.ending == nla::Ending::refused);
  CHECK(outcome.why.find("node0: start 16777216 ranks: ") == 0);
  CHECK(outcome.why.find("or put fewer ranks on a node") != std::string::npos);
  parent.send(msg::Shutdown{});
  const auto done = parent.expect<msg::Done>();
  REQUIRE(done);
  CHECK(done->stats.max_private_bytes < std::uint64_t{16} << 20);
  CHECK(parent.nothing_left());
}

TEST_CASE("exit codes and signals reach the verdict as they were") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  nla::Job job =
      parent.job_of({"/bin/sh", "-c", "test $SCELA_RANK = 0 && exit 7; kill -KILL $$"}, 2);
  job.on_failure = nla::OnFailure::wait;
  REQUIRE(parent.launch(job));
  const auto verdicts = parent.expect<msg::Verdicts>();
  REQUIRE(verdicts);
  for (const auto& [outcome, ranks] : verdicts->groups) {
    const bool first = ranks == RankSet::single(0);
    CHECK(outcome.ending == (first ? nla::Ending::exited : nla::Ending::signaled));
    CHECK(outcome.code == (first ? 7 : SIGKILL));
  }
}

TEST_CASE("output of a rank arrives whole, and under credit") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch("head -c 700000 /dev/zero | tr '\\0' x; echo end >&2"));
  const std::string text = parent.output_of_all();
  CHECK(text == std::string(700000, 'x'));
}

TEST_CASE("standard input reaches the ranks that are to have it, to its end") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  nla::Job job = parent.job_of({"/bin/sh", "-c", "wc -c"}, 2);
  job.stdin_ranks = RankSet::single(1);
  REQUIRE(parent.launch(job));
  const Chunk piece(std::string(60000, 'i'));
  for (int i = 0; i < 4; ++i)
    parent.send(msg::Stdin{false, piece});
  parent.send(msg::Stdin{true, {}});
  std::istringstream in(parent.output_of_all());
  std::multiset<int> counts;
  for (int count = 0; in >> count;)
    counts.insert(count);
  CHECK(counts == std::multiset<int>{0, 240000});
  CHECK(parent.saw("StdinTaken"));
}

TEST_CASE("a rank that closes its input and runs on is reported and is sent no more") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  nla::Job job = parent.job_of({"/bin/sh", "-c", "exec <&-; exec sleep 1000"}, 2);
  job.stdin_ranks = RankSet::single(0);
  REQUIRE(parent.launch(job));
  bool told = false;
  for (int i = 0; i < 4 && !told; ++i) {  // the second piece does not fit the pipe
    parent.send(msg::Stdin{false, Chunk(std::string(60000, 'i'))});
    const auto message = parent.expect<msg::StdinTaken>();
    REQUIRE(message);
    told = message->last;
  }
  CHECK(told);
  CHECK_FALSE(parent.saw("Verdicts"));
}

TEST_CASE("input for a rank that does not read counts as taken once it is gone") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  nla::Job job = parent.job_of({"/bin/true"}, 1);
  job.stdin_ranks = RankSet::single(0);
  REQUIRE(parent.launch(job));
  const Chunk piece(std::string(60000, 'i'));
  for (int i = 0; i < 4; ++i)
    parent.send(msg::Stdin{i == 3, piece});
  std::optional<msg::StdinTaken> told;
  do {
    told = parent.expect<msg::StdinTaken>();
    REQUIRE(told);
  } while (told->bytes < 240000 && !told->last);
}

TEST_CASE("a rank that ends between PMI init and finalize is not a success") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  const nla::Outcome outcome = outcome_of(
      parent.job_of(
          {"/bin/sh", "-c", "echo cmd=init pmi_version=1 pmi_subversion=1 >&3; read answer <&3"},
          1),
      parent);
  CHECK(outcome.ending == nla::Ending::unfinished);
}

TEST_CASE("requests of a rank arrive before the news of its end") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  const nla::Outcome outcome = outcome_of(
      parent.job_of({"/bin/sh", "-c",
                     "printf 'cmd=init pmi_version=1 pmi_subversion=1\\ncmd=abort exitcode=9\\n' "
                     ">&3"},
                    1),
      parent);
  CHECK(outcome.ending == nla::Ending::aborted);
  CHECK(outcome.code == 9);
}

TEST_CASE("an agent's record replays, and its trace names what its ranks did") {
  FakeParent parent;
  nla::Settings settings;
  settings.record = cat(temporary_base(), "/scela-record-test-", ::getpid());
  settings.trace = true;
  settings.measure = true;
  REQUIRE(parent.bring_up(1, nla::format(settings)));
  nla::Job job = parent.job_of({"/bin/sh", "-c", "echo hello"}, 2);
  job.trace = true;
  REQUIRE(parent.launch(job));
  REQUIRE(parent.expect<msg::Verdicts>());
  parent.send(msg::Shutdown{});
  std::string trace;
  for (bool last = false; !last;) {
    const auto piece = parent.expect<msg::Report>();
    REQUIRE(piece);
    trace += piece->bytes.view();
    last = piece->last;
  }
  for (const char* name : {"build tree", "start", "run", "start ranks"}) {
    CHECK(trace.find(cat(R"("name":")", name, "\"")) != std::string::npos);
  }
  const auto done = parent.expect<msg::Done>();
  REQUIRE(done);
  CHECK(done->stats.max_private_bytes > 0);
  CHECK(done->stats.max_resident_bytes >= done->stats.max_private_bytes);
#ifdef NDEBUG
  CHECK(done->stats.max_private_bytes <= std::uint64_t{2} << 20);
#endif
  CHECK(parent.nothing_left());
  const std::string path = settings.record + ".0";
  const auto replayed = nla::replay(read_small_file(path.c_str()));
  REQUIRE(replayed);
  CHECK(replayed->events > 5);
  CHECK_FALSE(replayed->difference);
  CHECK_FALSE(replayed->cut_short);
  ::unlink(path.c_str());
}

TEST_CASE("an agent that is sent nonsense ends and leaves nothing") {
  FakeParent version;
  REQUIRE(version.bring_up());
  REQUIRE(version.launch("exec sleep 1000"));
  version.send_raw(std::string("\x63\x01\0\0\0\0\0\0", 8));
  CHECK(version.sees_end());
  CHECK(version.nothing_left());

  FakeParent length;
  REQUIRE(length.bring_up());
  length.send_raw(std::string("\x01\x01\0\0\xff\xff\xff\xff", 8));
  CHECK(length.nothing_left());

  FakeParent cut;
  REQUIRE(cut.bring_up());
  cut.send_raw(std::string("\x01\x01\0\0\x10\0\0\0abc", 11));
  cut.close_link();
  CHECK(cut.nothing_left());
}

}  // namespace rank_test
