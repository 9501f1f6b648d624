// The guardian: the small process that outlives an agent until nothing of the job is left on the
// node (decision D7).
//
//   scela-nla (guardian) ── forks ──► agent ── starts ──► ranks, further agents
//
// Both are child subreapers: orphans of ranks become children of the agent or, if the agent is
// dead, of the guardian. Both lead sessions and show marks, so that other agents tell them from
// processes that ranks leave behind (agent_mark.h). This holds also if the guardian dies and its
// agent becomes a child of the parent agent.
//
// The two are joined by a guardian's socket (a socket pair). Over it the agent tells the grace and
// the node's directories, and either side sees at once that the other is gone. The guardian also
// holds the link, so that a closed link tells the parent that the node is clean.
//
// If the agent ends (exit, signal, stop), the guardian first ends the link's outgoing side. Then it
// ends every descendant: SIGTERM, the grace, then SIGKILL until none is left. Agents of other nodes
// are spared, since they end by their own links. At last the guardian removes the directories and
// exits. If the user wants to keep what the ranks left running (tell_keep()), the guardian ends no
// descendant of an agent that ended well. The ranks are killed by the kernel with an agent that is
// killed (nla/ranks/rank_starter.cpp), so that none is left if both are killed at once.
//
// SIGTERM to the guardian ends the job on the node, and so does the end of the parent. SIGUSR1 and
// SIGUSR2 are meant for the ranks of the node: a scheduler sends them to the guardian, which is the
// process that it has started. An agent
// that does not act on it, busy or stuck, is killed after three times together: the grace,
// kAgentSlackMs, and the time in which another parent may adopt the agent (nla/adopt/adoption.h).
//
// scela-nla and the shell use it. One thread; it uses no event loop and hardly any memory, since it
// forks before the agent has any.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/guard/agent_mark.h"

namespace scela::nla {

// Forks. In the agent it returns the guardian's socket. In the guardian it does not return: it
// waits, cleans up, and ends the process with the status of the agent, or 1 if the agent was
// killed. Error (launch): the system refuses; no process was forked. `link` is the descriptor of
// the link to the parent, and `link_out` that of its output; -1: `link` goes both ways. `mark_room`
// points into the command line; agent and guardian each write their mark there (agent_mark.h). If
// `last_word` is not 0, `link` is no link to a parent but a connection that stays open until the
// node is clean. The guardian then writes this byte there. If `again` is not 0 and the agent ended
// with 0, it then waits: for this byte, upon which it forks the next agent, or for the end of the
// connection or a signal, upon which it ends.
Result<Fd> fork_agent(int link, int link_out = -1, char* mark_room = nullptr, char last_word = 0,
                      char again = 0);

// Tells the guardian the time, in milliseconds, between SIGTERM and SIGKILL to the ranks. The agent
// calls all tell_ functions. They do not block. They have no effect if there is no guardian's
// socket or the guardian is gone.
void tell_grace(const Fd& guardian_socket, std::uint32_t grace_ms);
// Tells the guardian the marks: it then shows its own, and recognizes the agents of other nodes.
void tell_marks(const Fd& guardian_socket, const AgentMarks& marks);
// Tells the guardian to leave alone what the ranks left running, if the agent ends well.
void tell_keep(const Fd& guardian_socket);
// Tells the guardian a directory that it removes at the end, besides those that were told before.
void tell_directory(const Fd& guardian_socket, const std::string& path);
// Tells the guardian that the agent may wait `adopt_ms` milliseconds for another parent when its
// parent is lost. The guardian does not end it earlier.
void tell_adoptable(const Fd& guardian_socket, std::uint32_t adopt_ms);
// Tells the guardian that the agent has another parent, the end of which the guardian does not see.
void tell_adopted(const Fd& guardian_socket);

// The news in one record of the guardian. `nothing`: there is no record now. `end_node`: the job on
// this node shall end. `guardian_gone`: the guardian has ended, and no record follows.
struct GuardianNews {
  enum class Kind : std::uint8_t {
    nothing,
    end_node,      // the guardian was told to end
    signal_ranks,  // the guardian got `signo`, which is meant for the ranks
    guardian_gone,
  };
  Kind kind;
  int signo = 0;
};
// Reads one record of the guardian, for the agent. Does not block.
GuardianNews read_guardian_socket(const Fd& guardian_socket);

}  // namespace scela::nla
