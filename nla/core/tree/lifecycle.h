// The phases of an agent's life, as a table of how each is entered and what ends it. Context has
// the present phase, and the parts in nla/core/job and nla/core/agent follow the table. Values
// only, for any thread.
//
// The root is the agent inside scela-run. Start, SliceHosts, Ready, Shutdown, Done and Terminate
// are messages between agents (nla/core/wire/agent_messages.h). Begin, Launch and Measured are
// events that the shell around an agent's core reports. AllReady, Finishing, Finish and JobEnded
// are actions that the core asks of the shell (events.h, actions.h). A slice is a range of nodes;
// "used up" means that the last of its nodes has failed. A verdict says how a rank ended.
//
//   phase      entered by                            ends when
//   waiting    creation                              Start and all SliceHosts came (root: Begin)
//   starting   children are being started            every child is ready or its slice used up
//   ready      Ready went up (root: AllReady shown)  the job came (root: Launch), or Shutdown
//   running    ranks started                         Shutdown (root: every rank has its verdict)
//   ending     Shutdown, or the parent is gone       no rank, no leftover, no output, children done
//   measuring  Finishing was given                   Measured came: Done goes up
//   leaving    Done sent (root: JobEnded shown)      every child process is gone: Finish
//   finished   Finish was given                      -
//
// The root may go from `starting` to `running` at once (event::Launch). AllReady is then shown
// while the ranks run.
//
// Terminate (PROCESS_TERMINATE) may come in any phase. Ranks get the signal, and SIGKILL after the
// grace; their verdicts then end the job the usual way. The loss of the parent is Terminate and
// Shutdown at once, with no agent to report to.
#pragma once

#include <cstdint>
#include <string_view>

namespace scela::nla {

// In the order in which an agent goes through them; the table above explains each.
enum class Phase : std::uint8_t {
  waiting,
  starting,
  ready,
  running,
  ending,
  measuring,
  leaving,
  finished
};

// Returns the name of the enumerator, for logs and tests.
constexpr std::string_view name_of(Phase phase) {
  constexpr std::string_view kNames[] = {"waiting", "starting",  "ready",   "running",
                                         "ending",  "measuring", "leaving", "finished"};
  return kNames[static_cast<int>(phase)];
}

}  // namespace scela::nla
