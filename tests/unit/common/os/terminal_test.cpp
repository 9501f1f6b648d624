// Tests pseudo-terminals, and a child that has one.
#include "common/os/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>

#include <catch2/catch.hpp>

#include "common/os/process/process_tree.h"
#include "tests/unit/common/os/child_run.h"

namespace terminal_test {

using namespace scela;
using namespace scela::test;

namespace {

PseudoTerminal open_one() {
  Result<PseudoTerminal> pair = open_pseudo_terminal();
  if (!pair) FAIL(pair.error().text());
  return std::move(*pair);
}

// Returns all bytes until every copy of the other end is closed.
std::string read_all(const Fd& ours) {
  std::string text;
  for (;;) {
    pollfd one{ours.get(), POLLIN, 0};
    ::poll(&one, 1, -1);
    char buffer[4096];
    const ssize_t got = ::read(ours.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

struct OnTerminal {
  explicit OnTerminal(const std::string& script) : command({"/bin/sh", "-c", script}) {
    for (int& one : command.standard)
      one = pair.theirs.get();
    command.spec.descriptors = command.standard;
    command.spec.group = ChildGroup::own_terminal;
    const auto pid = start_child(command.spec);
    REQUIRE(pid);
    child = *pid;
    pair.theirs.reset();
  }
  PseudoTerminal pair = open_one();
  Command command;
  pid_t child = 0;
};

}  // namespace

TEST_CASE("a terminal has the size and the modes that it was given") {
  const PseudoTerminal pair = open_one();
  CHECK_FALSE(window_size(pair.ours.get()));  // no size was set yet
  set_window_size(pair.ours.get(), {50, 132, 1000, 700});
  CHECK(window_size(pair.theirs.get()) == WindowSize{50, 132, 1000, 700});
  TerminalModes modes = terminal_modes(pair.theirs.get()).value();
  CHECK(modes.echo);
  REQUIRE(modes.keys.size() == kTerminalKeyCount);
  CHECK(modes.keys[0] == 3);
  CHECK(end_key(pair.theirs.get()) == 4);
  modes.echo = false;
  modes.utf8 = true;
  modes.keys[0] = 7;
  modes.keys[4] = 5;
  set_terminal_modes(pair.theirs.get(), modes);
  CHECK(terminal_modes(pair.theirs.get()) == modes);
  CHECK(end_key(pair.theirs.get()) == 5);
  set_terminal_modes(pair.theirs.get(), {true, false, ""});  // the keys stay as they are
  CHECK(terminal_modes(pair.theirs.get())->keys == modes.keys);
}

TEST_CASE("a file that is no terminal has neither size nor modes") {
  const Fd null(::open("/dev/null", O_RDWR));
  CHECK_FALSE(window_size(null.get()));
  CHECK_FALSE(terminal_modes(null.get()));
  CHECK(end_key(null.get()) == 4);
}

TEST_CASE("a child leads a session on its terminal and is its foreground process") {
  OnTerminal on("tty </dev/tty >/dev/null && read line && echo got $line");
  ProcessFacts facts;
  REQUIRE(facts_of(on.child, facts));
  CHECK(facts.session == on.child);
  CHECK(::tcgetpgrp(on.pair.ours.get()) == on.child);
  CHECK(::write(on.pair.ours.get(), "it\n", 3) == 3);
  CHECK(read_all(on.pair.ours).ends_with("got it\r\n"));
  CHECK(wait_status(on.child) == 0);
}

TEST_CASE("keys of a terminal are signals to the child, whatever its parent ignores") {
  struct sigaction before = {};
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGTSTP, &ignore, &before);
  OnTerminal on("echo ready; read line");
  ::sigaction(SIGTSTP, &before, nullptr);
  const std::string status = read_small_file(cat("/proc/", on.child, "/status").c_str());
  const std::size_t at = status.find("SigIgn:\t");
  REQUIRE(at != std::string::npos);
  CHECK((std::stoul(status.substr(at + 8), nullptr, 16) & (1ul << (SIGTSTP - 1))) == 0);
  pollfd ready{on.pair.ours.get(), POLLIN, 0};
  ::poll(&ready, 1, -1);
  CHECK(::write(on.pair.ours.get(), "\x03", 1) == 1);
  CHECK(WTERMSIG(wait_status(on.child)) == SIGINT);
}

TEST_CASE("nothing that was written to a terminal is lost when its last writer ends") {
  OnTerminal on("stty -opost; i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done");
  std::string expected;
  for (int i = 0; i < 20000; ++i)
    expected += cat(i, "\n");
  CHECK(read_all(on.pair.ours) == expected);
  CHECK(wait_status(on.child) == 0);
}

}  // namespace terminal_test
