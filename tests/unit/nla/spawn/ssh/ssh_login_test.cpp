// Tests the thread that asks an ssh-agent. Logins are tested with a real sshd in tests/cluster.
#include "nla/spawn/ssh/ssh_login.h"

#include <libssh/libssh.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "tests/support/temporary_home.h"

namespace ssh_login_test {

using namespace scela;
using namespace scela::nla;

namespace {

Fd listen_at(const std::string& path) {
  Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(out.get(), 1) == 0);
  return out;
}

std::set<std::string> threads() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    out.insert(entry.path().filename());
  return out;
}

// Returns the signals that a thread blocks, SIGNO at the bit SIGNO - 1.
std::uint64_t blocked_by(const std::string& thread) {
  std::ifstream status(cat("/proc/self/task/", thread, "/status"));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  return 0;
}

}  // namespace

TEST_CASE("the thread that asks an ssh-agent takes no signal") {
  const test::TemporaryHome home;
  const Fd agent = listen_at(home.path("agent"));
  boost::asio::io_context io;
  const SshIdentities identities;
  AuthGate gate(false);
  SshLogin login(io, identities, gate, std::chrono::seconds(60));
  const std::unique_ptr<ssh_session_struct, decltype(&::ssh_free)> session(::ssh_new(), ::ssh_free);
  REQUIRE(::ssh_options_set(session.get(), SSH_OPTIONS_IDENTITY_AGENT,
                            home.path("agent").c_str()) == SSH_OK);
  const std::set<std::string> before = threads();
  bool answered = false;
  REQUIRE(login.ask_agent(session.get(), [&] { answered = true; }));
  {
    // The thread waits for an answer on this connection.
    const Fd connection(retry([&] { return ::accept(agent.get(), nullptr, nullptr); }));
    REQUIRE(connection);
    std::uint64_t unblocked = 0;
    for (const std::string& thread : threads())
      if (!before.contains(thread)) unblocked |= ~blocked_by(thread);
    std::uint64_t wanted = 0;
    for (const int signo : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT})
      wanted |= std::uint64_t{1} << (signo - 1);
    CHECK(threads().size() > before.size());  // a sanitizer may have one of its own
    CHECK((unblocked & wanted) == 0);
  }
  io.run();
  REQUIRE(answered);
  CHECK(login.agents_answer() != SshLogin::Progress::accepted);
}

}  // namespace ssh_login_test
