// Tests what a start of ranks and agents reports if the system has no process or descriptor left.
// The limits are set in a process of their own.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/ranks/rank_starter.h"
#include "nla/spawn/factory.h"

namespace limits_test {

using namespace scela;
using namespace scela::nla;

namespace {

constexpr uid_t kNobody = 65534;

void no_more_processes() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NPROC, &none);
  // The limit does not bind root.
  if (::getuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);
}

void no_more_descriptors() {
  const int next = ::dup(0);  // the lowest free one
  const rlimit few{static_cast<rlim_t>(next) + 1, static_cast<rlim_t>(next) + 1};
  ::setrlimit(RLIMIT_NOFILE, &few);
}

// Returns what `tell` says in a process of its own.
template <class Tell>
std::string in_a_child(Tell&& tell) {
  Result<Pipe> pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t pid = ::fork();
  if (pid == 0) {
    // No destructor runs: under a sanitizer they would need descriptors too.
    tell([&](const std::string& text) {
      static_cast<void>(!::write(pipe->write.get(), text.data(), text.size()));
      ::_exit(0);
    });
    ::_exit(1);
  }
  pipe->write.reset();
  std::string text(4096, '\0');
  const ssize_t got = retry([&] { return ::read(pipe->read.get(), text.data(), text.size()); });
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::waitpid(pid, nullptr, 0);
  return text;
}

std::string rank_refused_under(void (*limit)()) {
  return in_a_child([&](const auto& say) {
    Job job;
    job.id = "test";
    job.map.append(0, 1);
    App app;
    app.argv = {"/bin/true"};
    app.ranks = RankSet::single(0);
    job.apps.push_back(app);
    Result<RankStarter> starter = RankStarter::create(job, RankSet::single(0), {});
    if (!starter) say("no starter");
    limit();
    const auto started = starter->start(0, false);
    say(started ? "started" : started.error().why);
  });
}

std::string agent_refused_under(void (*limit)()) {
  return in_a_child([&](const auto& say) {
    boost::asio::io_context io;
    const auto spawner = make_local_spawner(io, "/bin/true");
    Contact node;
    node.name = "node";
    // The spawner starts a node once before the limit is set. The undefined-behaviour sanitizer
    // looks at the type of each object on the way with the help of a pipe.
    spawner->start(
        node, false, [] {}, [](auto) {});
    limit();
    const auto done = [&](tl::expected<StartedAgent, SpawnFailure> started) {
      say(started ? "started" : started.error().why);
    };
    spawner->start(
        node, false, [] {}, done);
  });
}

}  // namespace

TEST_CASE("an error for want of a process names the limit of processes") {
  const std::string why = GENERATE(false, true) ? agent_refused_under(no_more_processes)
                                                : rank_refused_under(no_more_processes);
  INFO(why);
  CHECK(why.find("create a process '/bin/true'") == 0);
  CHECK(why.find("(EAGAIN)") != std::string::npos);
  CHECK(why.find("ulimit -u") != std::string::npos);
}

TEST_CASE("an error for want of a descriptor names the limit of open files") {
  const std::string why = GENERATE(false, true) ? agent_refused_under(no_more_descriptors)
                                                : rank_refused_under(no_more_descriptors);
  INFO(why);
  CHECK(why.find("(EMFILE)") != std::string::npos);
  CHECK(why.find("ulimit -n") != std::string::npos);
}

TEST_CASE("only limits have advice") {
  CHECK(limit_advice(EAGAIN).find("ulimit -u") != std::string_view::npos);
  CHECK(limit_advice(EMFILE).find("ulimit -n") != std::string_view::npos);
  CHECK(limit_advice(ENFILE).find("ulimit -n") != std::string_view::npos);
  CHECK(limit_advice(ENOENT).empty());
  CHECK(limit_advice(0).empty());
}

}  // namespace limits_test
