// The guardian: the small process that outlives an agent by as long as it takes to leave nothing
// behind (decision D7).
//
//   scela-nla (guardian) ── forks ──► agent ── starts ──► ranks, further agents
//
// Both are child subreapers: orphans of ranks fall to the agent, and if it dies, to the guardian.
// Both lead sessions and show marks, so that other agents tell them from what ranks leave behind
// (agent_mark.h), also if the guardian dies and its agent falls to the parent agent.
// The two are joined by a leash (a socket pair): the agent tells the grace and the node's
// folders; either sees at once when the other is gone. The guardian also holds the link, so that
// the parent knows the node to be clean when the link is closed. Whatever ends the agent (exit,
// signal, stop), the guardian ends the link's outgoing side, ends every descendant (SIGTERM, grace,
// SIGKILL until none is left) except agents of other nodes, which end by their own links, removes
// the folders and exits. SIGTERM to the guardian ends the job on the node. So does the end of the
// parent: an agent that does not act on it, busy or stuck, is killed after the grace and a while,
// and after the time in which another parent may take its place (nla/adoption.h).
// Uses no event loop and hardly any memory: it forks before the agent has any.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/agent_mark.h"

namespace scela::nla {

// Forks. In the agent: the leash. In the guardian it does not return: it waits, cleans up, and ends
// the process with status 0 if the agent ended with 0, else 1. Error (launch): the system
// refuses; nothing was forked.
// `mark_room`: points into the command line; agent and guardian each write their mark there
// (agent_mark.h).
Result<Fd> fork_agent(int link, int link_out = -1, char* mark_room = nullptr);

// What the agent says over the leash; silently nothing without one or when the guardian is gone.
void tell_grace(const Fd& leash, std::uint32_t grace_ms);
// The guardian shows its own mark from then on, and knows the agents of other nodes.
void tell_marks(const Fd& leash, const AgentMarks& marks);
void tell_directory(const Fd& leash, const std::string& path);  // one of them
// If the parent is lost, the agent may wait so long for another one.
void tell_adoptable(const Fd& leash, std::uint32_t adopt_ms);
// It has another one, whose end the guardian does not see.
void tell_adopted(const Fd& leash);

// What the agent hears.
enum class LeashNews : std::uint8_t { nothing, end_node, guardian_gone };
LeashNews read_leash(const Fd& leash);

}  // namespace scela::nla
