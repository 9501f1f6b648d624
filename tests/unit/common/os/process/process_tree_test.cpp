#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/os/private_dir.h"
#include "common/os/process/process_tree.h"
#include "tests/support/eventually.h"
#include "tests/unit/common/os/child_run.h"

namespace process_tree_test {

using namespace scela;
using namespace scela::test;

namespace {

std::size_t reap_all() {
  std::size_t count = 0;
  while (::waitpid(-1, nullptr, WNOHANG) > 0)
    ++count;
  return count;
}

pid_t start(std::vector<std::string> words, ChildGroup group = ChildGroup::own_group) {
  Command command(std::move(words));
  command.spec.group = group;
  const auto pid = start_child(command.spec);
  REQUIRE(pid);
  return *pid;
}

pid_t start_shell(const std::string& script) {
  return start({"/bin/sh", "-c", script});
}

bool kill_until_empty(const Descendants& below) {
  return eventually([&] {
    below.signal_all(SIGKILL);
    reap_all();
    return !below.any();
  });
}

std::size_t below_shell(pid_t pid) {
  return children_of(pid).size();
}

}  // namespace

TEST_CASE("a process without children has no descendants") {
  become_subreaper();
  const Descendants below;
  CHECK_FALSE(below.any());
  CHECK(below.signal_all(SIGTERM) == 0);
}

TEST_CASE("a dead child counts until it is reaped") {
  become_subreaper();
  const Descendants below;
  const pid_t pid = start_shell("exit 0");
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  CHECK(below.any());
  CHECK(below.signal_all(SIGTERM) == 0);  // no process is left to receive it
  CHECK(reap_all() == 1);
  CHECK_FALSE(below.any());
}

TEST_CASE(
    "double-forked descendants in sessions of their own fall to the subreaper and are ended") {
  become_subreaper();
  const Descendants below;
  const pid_t pid = start_shell("(setsid sleep 1000 & setsid sleep 1000 &); exec sleep 1000");
  REQUIRE(eventually([] { return children_of(::getpid()).size() == 3; }));
  ::kill(pid, SIGKILL);
  // There are two if the shell had not reaped its subshell yet.
  REQUIRE(eventually([&] { return reap_all() >= 1; }));
  CHECK(below.any());
  CHECK(kill_until_empty(below));
  CHECK(children_of(::getpid()).empty());
}

TEST_CASE("descendants that live are named, and dead ones and agents are not") {
  become_subreaper();
  const pid_t agent = start({"/bin/sleep", "1000"});
  const Descendants below([&](pid_t pid) { return pid == agent; });
  CHECK(below.names().empty());
  const pid_t dead = start_shell("exit 0");
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(dead), &info, WEXITED | WNOWAIT) == 0);
  start_shell("sleep 1000 & wait");
  REQUIRE(eventually([&] {
    std::vector<std::string> names = below.names();
    std::ranges::sort(names);
    return names == std::vector<std::string>{"sh", "sleep"};
  }));
  below.signal_all(SIGKILL);
  ::kill(agent, SIGKILL);
  CHECK(eventually([] {
    reap_all();
    return children_of(::getpid()).empty();
  }));
}

TEST_CASE("one SIGTERM ends a tree that is stopped") {
  become_subreaper();
  const Descendants below;
  const pid_t pid = start_shell("sleep 1000 & kill -STOP $$; wait");
  ProcessFacts facts;
  REQUIRE(eventually([&] { return facts_of(pid, facts) && facts.state == 'T'; }));
  CHECK(below.signal_all(SIGTERM) == 2);
  CHECK(eventually([&] {
    reap_all();
    return !below.any();
  }));
}

TEST_CASE("descendants that ignore SIGTERM are killed, children of theirs too") {
  become_subreaper();
  const Descendants below;
  const pid_t pid = start_shell("trap '' TERM; sh -c 'sleep 1000 & sleep 1000 & wait' & wait");
  REQUIRE(eventually([&] {
    const std::vector<pid_t> inner = children_of(pid);
    return inner.size() == 1 && below_shell(inner.front()) == 2;
  }));
  CHECK(below.signal_all(SIGTERM) == 4);
  CHECK(below.any());
  ProcessFacts facts;
  CHECK(facts_of(pid, facts));
  CHECK(kill_until_empty(below));
}

TEST_CASE("agents of other nodes and what is below them are left alone") {
  become_subreaper();
  pid_t other = 0;
  const Descendants below([&](pid_t pid) { return pid == other; });
  const std::vector<std::string> script = {"/bin/sh", "-c", "sleep 1000; exit 0"};

  other = start(script, ChildGroup::own_session);
  REQUIRE(eventually([&] { return children_of(other).size() == 1; }));
  CHECK_FALSE(below.any());
  CHECK(below.signal_all(SIGTERM) == 0);
  CHECK(below.orphaned_agents({}) == std::vector<pid_t>{other});
  CHECK(below.orphaned_agents({other}).empty());

  const pid_t rank = start(script, ChildGroup::own_group);
  REQUIRE(eventually([&] { return children_of(rank).size() == 1; }));
  CHECK(below.any());
  CHECK(below.orphaned_agents({other}).empty());
  CHECK_FALSE(below.any({std::min(other, rank), std::max(other, rank)}));
  CHECK(below.signal_all(SIGKILL) == 2);
  CHECK(kill_until_empty(below));
  ProcessFacts facts;
  CHECK(facts_of(other, facts));
  CHECK(facts.state != 'Z');

  // Another Descendants object treats the agent like any other process.
  CHECK(kill_until_empty(Descendants()));
}

TEST_CASE("sessions that are kept are left alone, and all below them") {
  become_subreaper();
  const Descendants below;
  // `client` stands for an ssh client with child processes, one of which begins a further session.
  const pid_t client =
      start({"/bin/sh", "-c", "sleep 1000 & setsid sleep 1000 & wait"}, ChildGroup::own_session);
  const pid_t left = start_shell("sleep 1000 & (setsid sleep 1000 &) ; wait");
  REQUIRE(eventually([&] {
    // The daemon is now a child of this process.
    return below_shell(client) == 2 && below_shell(left) == 1 &&
           children_of(::getpid()).size() == 3;
  }));
  const std::vector<pid_t> kept = {client};
  CHECK(below.any(kept));
  CHECK(below.signal_all(SIGKILL, kept) == 3);
  CHECK(eventually([&] {
    reap_all();
    return !below.any(kept);
  }));
  CHECK(below.any());
  CHECK(below_shell(client) == 2);
  CHECK(kill_until_empty(below));
}

TEST_CASE("a session is kept after its first process has ended, and another is not") {
  become_subreaper();
  const Descendants below;
  const pid_t first = start({"/bin/sh", "-c", "sleep 1000 & exit 0"}, ChildGroup::own_session);
  REQUIRE(eventually([&] { return reap_all() == 1; }));
  REQUIRE(children_of(::getpid()).size() == 1);
  CHECK_FALSE(below.any({first}));
  CHECK(below.signal_all(SIGKILL, {first}) == 0);
  CHECK(below.any({::getpid()}));
  CHECK(below.signal_all(SIGKILL, {::getpid()}) == 1);
  CHECK(kill_until_empty(below));
}

TEST_CASE("daemons of a process that keeps its orphans stay below it while it lives") {
  become_subreaper();
  const Descendants below;
  Command command({"/bin/sh", "-c", "(setsid sleep 1000 &); exec sleep 1000"});
  command.spec.group = ChildGroup::own_session;
  command.spec.keeps_orphans = true;
  const auto client = start_child(command.spec);
  REQUIRE(client);
  const auto daemons = [&] {
    std::vector<pid_t> found;
    for (const pid_t pid : children_of(*client)) {
      ProcessFacts facts;
      if (facts_of(pid, facts) && facts.session == pid) found.push_back(pid);
    }
    return found;
  };
  REQUIRE(eventually([&] { return daemons().size() == 1; }));
  const pid_t daemon = daemons().front();
  CHECK(children_of(::getpid()) == std::vector<pid_t>{*client});
  CHECK(below.signal_all(SIGKILL, {*client}) == 0);
  // The daemon then falls to this process, and is left running.
  ::kill(*client, SIGKILL);
  REQUIRE(eventually([] { return reap_all() == 1; }));
  CHECK(children_of(::getpid()) == std::vector<pid_t>{daemon});
  CHECK(below.any({*client}));
  CHECK(kill_until_empty(below));
}

}  // namespace process_tree_test
