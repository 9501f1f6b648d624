// The job leaves nothing behind (decision D7). If the agent or the guardian dies or stops, whatever
// the ranks are doing, no process and no directory of the job is left.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/process/process_tree.h"
#include "nla/io/shell_settings.h"
#include "tests/e2e/agent/fake_parent.h"
#include "tests/support/eventually.h"

namespace end_test {

using namespace scela;
using namespace scela::test;
namespace msg = nla::msg;

namespace {

// A rank that does everything to stay: ignores SIGTERM, has a child that does so in a session of
// its own under a parent that is gone, a child that is stopped, and then stops itself.
constexpr const char* kUnruly =
    "trap '' TERM INT HUP;"
    "(setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 1000; done' &);"
    "sh -c 'echo up; kill -STOP $$' &"
    "echo up; kill -STOP $$; while :; do sleep 1000; done";

constexpr const char* kQuiet = "echo up; exec sleep 1000";

// Waits until the ranks and their children have said `lines` times that they run.
bool running(FakeParent& parent, std::size_t lines) {
  std::size_t heard = 0;
  while (heard < lines) {
    const auto output = parent.expect<msg::Output>();
    if (!output) return false;
    heard += static_cast<std::size_t>(std::ranges::count(output->bytes.view(), '\n'));
  }
  return true;
}

}  // namespace

TEST_CASE("a job that ends by itself leaves nothing, and its guardian ends well") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch("test -d \"$SCELA_NODE_DIR\" && touch \"$SCELA_NODE_DIR/file\""));
  const auto verdicts = parent.expect<msg::Verdicts>();
  REQUIRE(verdicts);
  REQUIRE(verdicts->groups.size() == 1);
  CHECK(verdicts->groups.front().first.success());
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  CHECK(parent.sees_end());
  CHECK(parent.sees_close());
  CHECK(parent.guardian_status() == 0);
  CHECK(parent.nothing_left());
}

TEST_CASE("leftovers of ranks that ended are ended with the job") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  REQUIRE(
      parent.launch("(setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 1000; done' &)"));
  REQUIRE(running(parent, 1));
  REQUIRE(parent.expect<msg::Verdicts>());
  CHECK(parent.processes().size() > 2);
  const pid_t agent = parent.agent();
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  // Done means done: at most the agent and its guardian are still on their way out.
  for (const pid_t pid : parent.processes()) {
    CHECK((pid == agent || pid == parent.guardian()));
  }
  CHECK(parent.guardian_status() == 0);
  CHECK(parent.nothing_left());
}

TEST_CASE("an agent's death is known at once and leaves nothing") {
  const auto parentage = GENERATE(Parentage::child, Parentage::orphaned);
  const auto script = GENERATE(kQuiet, kUnruly);
  FakeParent parent(parentage);
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch(script, 2));
  REQUIRE(running(parent, script == kUnruly ? 6 : 2));
  REQUIRE(::kill(parent.agent(), SIGKILL) == 0);
  CHECK(parent.sees_end());
  // The unruly ones live until the grace is over: the news did not wait for that.
  if (script == kUnruly) CHECK_FALSE(parent.processes().empty());
  CHECK(parent.sees_close());
  CHECK(parent.nothing_left());
}

TEST_CASE("the link is closed only when nothing is left") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch(kUnruly));
  REQUIRE(running(parent, 3));
  REQUIRE(::kill(parent.agent(), SIGKILL) == 0);
  REQUIRE(parent.sees_close());
  CHECK(parent.directories().empty());
  // The guardian itself may still be on its way out.
  const std::vector<pid_t> left = parent.processes();
  CHECK((left.empty() || left == std::vector<pid_t>{parent.guardian()}));
}

TEST_CASE("a stopped agent ends like a dead one") {
  const auto parentage = GENERATE(Parentage::child, Parentage::orphaned);
  FakeParent parent(parentage);
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch(kUnruly, 2));
  REQUIRE(running(parent, 6));
  REQUIRE(::kill(parent.agent(), SIGSTOP) == 0);
  CHECK(parent.sees_end());
  CHECK(parent.nothing_left());
}

TEST_CASE("an agent reports that its guardian was killed and ends the node by itself") {
  const auto parentage = GENERATE(Parentage::child, Parentage::orphaned);
  FakeParent parent(parentage);
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch(kUnruly, 2));
  REQUIRE(running(parent, 6));
  REQUIRE(::kill(parent.guardian(), SIGKILL) == 0);
  const auto failed = parent.expect<msg::NodeFailed>();
  REQUIRE(failed);
  CHECK(failed->why.find("guardian") != std::string::npos);
  const auto verdicts = parent.expect<msg::Verdicts>();
  REQUIRE(verdicts);
  for (const auto& [outcome, ranks] : verdicts->groups) {
    CHECK(outcome.ending == nla::Ending::lost);
  }
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  CHECK(parent.sees_close());
  CHECK(parent.nothing_left());
}

TEST_CASE("an agent that has lost its parent ends the node") {
  const auto parentage = GENERATE(Parentage::child, Parentage::orphaned);
  FakeParent parent(parentage);
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch(kUnruly, 2));
  REQUIRE(running(parent, 6));
  parent.close_link();
  CHECK(parent.nothing_left());
}

TEST_CASE("an agent that loses its parent before it has the job ends") {
  const auto parentage = GENERATE(Parentage::child, Parentage::orphaned);
  FakeParent early(parentage);
  early.close_link();
  CHECK(early.nothing_left());
  FakeParent ready(parentage);
  REQUIRE(ready.bring_up(2));
  ready.close_link();
  CHECK(ready.nothing_left());
}

TEST_CASE("an agent that is stuck when its parent goes is ended by its guardian") {
  // The agent waits for a reader of its record, and reads no messages meanwhile.
  const std::string record = cat(temporary_base(), "/scela-stuck-test-", ::getpid());
  const std::string pipe = record + ".0";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  nla::Settings settings;
  settings.record = record;
  FakeParent parent;
  REQUIRE(parent.bring_up(1, nla::format(settings)));
  REQUIRE(parent.launch(kUnruly));
  REQUIRE(running(parent, 3));
  // More than a block of the record; the end of the link comes behind it.
  for (int i = 0; i < 2; ++i)
    parent.send(msg::Stdin{false, Chunk(std::string(60'000, 'x'))});
  parent.close_link();
  CHECK(parent.nothing_left());
  ::unlink(pipe.c_str());
}

TEST_CASE("SIGTERM to a guardian ends the job on its node") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch(kUnruly, 2));
  REQUIRE(running(parent, 6));
  REQUIRE(::kill(parent.guardian(), SIGTERM) == 0);
  CHECK(parent.expect<msg::Verdicts>());
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  CHECK(parent.nothing_left());
}

TEST_CASE("the death of an inner agent ends the nodes below it too") {
  FakeParent parent;
  REQUIRE(parent.bring_up(3));
  REQUIRE(parent.launch(kUnruly));
  REQUIRE(running(parent, 9));
  CHECK(parent.directories().size() == 3);
  REQUIRE(parent.child_guardian() != 0);
  REQUIRE(::kill(parent.agent(), SIGKILL) == 0);
  CHECK(parent.sees_close());
  CHECK(parent.nothing_left());
}

TEST_CASE("an agent below that is killed with its guardian leaves nothing either") {
  FakeParent parent;
  REQUIRE(parent.bring_up(2));
  REQUIRE(parent.launch(kUnruly));
  REQUIRE(running(parent, 6));
  const pid_t guardian = parent.child_guardian();
  const std::vector<pid_t> below = children_of(guardian);
  REQUIRE(below.size() == 1);
  REQUIRE(::kill(guardian, SIGKILL) == 0);
  REQUIRE(::kill(below.front(), SIGKILL) == 0);
  REQUIRE(parent.expect<msg::ProcessFail>());
  parent.send(msg::Terminate{SIGTERM, 300});
  CHECK(parent.expect<msg::Verdicts>());
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  CHECK(parent.nothing_left());
}

TEST_CASE("an inner agent that loses its guardian loses its own ranks and serves the node below") {
  FakeParent parent;
  REQUIRE(parent.bring_up(3));
  nla::Job job = parent.job_of({"/bin/sh", "-c", kUnruly}, 1);
  job.on_failure = nla::OnFailure::wait;
  REQUIRE(parent.launch(job));
  REQUIRE(running(parent, 9));
  const pid_t guardian = parent.child_guardian();
  const std::vector<pid_t> below = children_of(guardian);
  REQUIRE(below.size() == 1);
  REQUIRE(::kill(guardian, SIGKILL) == 0);
  const auto failed = parent.expect<msg::NodeFailed>();
  REQUIRE(failed);
  CHECK(failed->node == 1);
  CHECK(failed->why.find("guardian") != std::string::npos);
  const auto fail = parent.expect<msg::ProcessFail>();
  REQUIRE(fail);
  CHECK(fail->rank == 1);
  // The node's own ranks end; it stays, for the one below it.
  const std::vector<pid_t> children = children_of(below.front());
  CHECK(eventually([&] { return children_of(below.front()).size() < children.size(); }));

  parent.send(msg::Terminate{SIGTERM, 300});
  std::map<Rank, nla::Ending> endings;
  while (endings.size() < 3) {
    const auto verdicts = parent.expect<msg::Verdicts>();
    REQUIRE(verdicts);
    for (const auto& [outcome, ranks] : verdicts->groups)
      ranks.for_each([&, ending = outcome.ending](Rank rank) { endings.emplace(rank, ending); });
  }
  CHECK(endings[0] == nla::Ending::signaled);
  CHECK(endings[1] == nla::Ending::lost);
  CHECK(endings[2] == nla::Ending::signaled);
  parent.send(msg::Shutdown{});
  // While it ends its leftovers, the first node spares the second node's agent, which is busy with
  // its own.
  const auto done = parent.expect<msg::Done>();
  REQUIRE(done);
  CHECK(done->stats.agents == 3);
  CHECK(parent.guardian_status() == 0);
  CHECK(parent.nothing_left());
}

TEST_CASE("an agent below that is stopped after its guardian was killed ends in time") {
  FakeParent parent;
  REQUIRE(parent.bring_up(2));
  REQUIRE(parent.launch(kUnruly));
  REQUIRE(running(parent, 6));
  const pid_t guardian = parent.child_guardian();
  const std::vector<pid_t> below = children_of(guardian);
  REQUIRE(below.size() == 1);
  REQUIRE(::kill(guardian, SIGKILL) == 0);
  REQUIRE(::kill(below.front(), SIGSTOP) == 0);
  parent.send(msg::Terminate{SIGTERM, 300});
  REQUIRE(parent.expect<msg::Verdicts>());
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  CHECK(parent.nothing_left());
}

TEST_CASE("a guardian below that is stopped goes on when its agent is given up") {
  FakeParent parent;
  REQUIRE(parent.bring_up(2));
  REQUIRE(parent.launch(kUnruly));
  REQUIRE(running(parent, 6));
  REQUIRE(::kill(parent.child_guardian(), SIGSTOP) == 0);
  parent.send(msg::Terminate{SIGTERM, 300});
  REQUIRE(parent.expect<msg::Verdicts>());
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  CHECK(parent.nothing_left());
}

TEST_CASE("PROCESS_TERMINATE ends ranks that do not want to end") {
  FakeParent parent;
  REQUIRE(parent.bring_up());
  REQUIRE(parent.launch(kUnruly, 2));
  REQUIRE(running(parent, 6));
  parent.send(msg::Terminate{SIGTERM, 300});
  const auto verdicts = parent.expect<msg::Verdicts>();
  REQUIRE(verdicts);
  for (const auto& [outcome, ranks] : verdicts->groups)
    CHECK(outcome.ended_by_us);
  parent.send(msg::Shutdown{});
  CHECK(parent.expect<msg::Done>());
  CHECK(parent.nothing_left());
}

}  // namespace end_test
