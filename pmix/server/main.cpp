// scela-pmix: the PMIx server of one node. The agent starts it if the ranks of a job speak PMIx,
// and talks to it over descriptor 3 (pmix/core/pmix_messages.h). The server ends when the agent
// ends. It then removes the directory named on its command line, in which the ranks keep shared
// memory.
//
// With --stand-in the program is no server, but stands in for a rank that has ended, with the
// environment of that rank. It connects to the server in the rank's name and ends. By that the
// server's libpmix loses a connection of the rank (nla/core/pmix/pmix_service.h).
//
// With --allocation or --lost-nodes it is a tool of a resource manager's PMIx server
// (pmix/server/tool.h).
#include <pmix.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "pmix/server/agent_link.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/tool.h"

namespace {

// The link is static because libpmix's threads, which are never joined, use it to the end.
scela::pmix::AgentLink& link() {
  static scela::pmix::AgentLink made;
  return made;
}

// After this time, in seconds, the stand-in ends although the server has not answered it.
constexpr unsigned kStandInSeconds = 20;

[[noreturn]] void stand_in() {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kStandInSeconds);
  pmix_proc_t self{};
  const pmix_status_t status = PMIx_Init(&self, nullptr, 0);
  ::_exit(status == PMIX_SUCCESS ? 0 : 71);  // no PMIx_Finalize, so it is lost
}

// Does what scela-run has started this program for. Returns std::nullopt if it is for the agent.
std::optional<int> serve_as_tool(int count, char** words) {
  using scela::pmix::AfterAllocation;
  using scela::pmix::ToolWish;
  if (count < 2) return std::nullopt;
  const std::string_view mode = words[1];
  ToolWish wish = ToolWish::automatic;
  AfterAllocation after = AfterAllocation::nothing;
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    if (word != "--asked" && word != "--lost-nodes") return std::nullopt;
    if (word == "--asked")
      wish = ToolWish::asked;
    else
      after = AfterAllocation::losses;
  }
  if (mode == "--allocation") return scela::pmix::tell_allocation(wish, after);
  if (mode == "--lost-nodes" && count == 2) return scela::pmix::tell_lost_nodes();
  return std::nullopt;
}

}  // namespace

int main(int count, char** words) {
  using namespace scela;
  ::prctl(PR_SET_NAME, "scela-pmix");  // a copy in memory is executed by the number of its file
  if (count == 2 && std::string_view(words[1]) == "--version") {
    std::puts("scela-pmix " SCELA_VERSION);
    return 0;
  }
  if (count == 2 && std::string_view(words[1]) == "--stand-in") stand_in();
  if (const auto status = serve_as_tool(count, words)) return *status;
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(pmix::kAgentDescriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("scela-pmix: is started by scela-nla, for jobs run with --pmi pmix\n", stderr);
    return 64;
  }
  raise_descriptor_limit();  // each client has a connection
  // When the agent lets go of this server, it asks all processes of its node to end. The server
  // ignores these signals, because it still has work then.
  for (const int signo : {SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2})
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
  // The ranks are gone, or end with the agent. The server removes the directory with all of
  // libpmix's files. No process waits for a finalization of libpmix.
  if (count > 1) static_cast<void>(remove_tree(words[1]));
  ::_exit(0);
}
