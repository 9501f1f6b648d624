// Tests the threads that look up hosts.
#include "launcher/hosts/host_finder.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace host_finder_test {

using namespace scela;

TEST_CASE("a thread that looks up hosts takes no signal") {
  const auto look_up = [](const std::vector<std::string>& hosts) {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    std::vector<HostLookup> out;
    for (const int signo : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT}) {
      const bool is_blocked = ::sigismember(&blocked, signo) == 1;
      out.push_back({hosts.front(), {}, is_blocked ? "blocked" : "open"});
    }
    return out;
  };
  boost::asio::io_context io;
  std::vector<std::string> found;
  HostFinder finder(io, look_up, [&](const std::vector<HostLookup>& hosts) {
    for (const HostLookup& host : hosts)
      found.push_back(host.why);
    finder.close();
  });
  finder.find({"h1"});
  sigset_t own;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
  CHECK(::sigismember(&own, SIGTERM) == 0);
  io.run();
  CHECK(found == std::vector<std::string>(6, "blocked"));
}

}  // namespace host_finder_test
