// scela-pmix: the PMIx server of one node. The agent starts it for jobs whose ranks speak PMIx, and
// talks to it over descriptor 3 (pmix/core/messages.h). It ends when the agent does, and takes the
// directory that it is given along: where the ranks keep their shared memory.
//
// With --stand-in it is no server: it connects to one in the name of a rank that has ended, whose
// environment it has, and ends, so that libpmix there loses that connection (nla/core/pmix_desk.h).
#include <pmix.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "common/os/private_dir.h"
#include "pmix/server/link.h"
#include "pmix/server/server.h"

namespace {

// Static, so that libpmix's threads, which nobody joins, find them to the end.
scela::pmix::AgentLink& link() {
  static scela::pmix::AgentLink made;
  return made;
}

// For a server that does not answer any more.
constexpr unsigned kStandInSeconds = 20;

[[noreturn]] void stand_in() {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kStandInSeconds);
  pmix_proc_t self{};
  const pmix_status_t status = PMIx_Init(&self, nullptr, 0);
  ::_exit(status == PMIX_SUCCESS ? 0 : 71);  // not PMIx_Finalize: libpmix is to miss it
}

}  // namespace

int main(int count, char** words) {
  using namespace scela;
  if (count == 2 && std::string_view(words[1]) == "--version") {
    std::puts("scela-pmix " SCELA_VERSION);
    return 0;
  }
  if (count == 2 && std::string_view(words[1]) == "--stand-in") stand_in();
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(pmix::kAgentDescriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("scela-pmix: is started by scela-nla, for jobs run with --pmi pmix\n", stderr);
    return 64;
  }
  // The agent asks everybody of its node to go when it lets go of this one, which has work then.
  for (const int signo : {SIGTERM, SIGHUP, SIGINT})
    ::signal(signo, SIG_IGN);
  if (!link().open()) return 71;
  const auto setup = link().first();
  if (!setup || !std::holds_alternative<pmix::msg::Setup>(*setup)) return 71;
  static pmix::Server server(link());
  const auto leave_if = [](const std::string& fault) {
    if (fault.empty()) return;
    link().post(pmix::msg::Failed{fault});
    link().flush();
    ::_exit(71);
  };
  leave_if(server.set_up(std::get<pmix::msg::Setup>(*setup)));
  link().run([&](const pmix::Message& message) { leave_if(server.receive(message)); });
  // The ranks are gone, or end with the agent. It removes the directory with all that libpmix has
  // there, and nobody waits for its farewells.
  if (count > 1) static_cast<void>(remove_tree(words[1]));
  ::_exit(0);
}
