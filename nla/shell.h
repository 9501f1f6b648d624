// The shell around an agent's core: descriptors, timers, child processes and signals become events,
// and actions become effects. Used by scela-nla (Role::agent) and by scela-run (Role::root,
// decision D1).
//
// One thread. Owns the core, the links, the ranks and the agents it started. Asio stays in
// shell*.cpp. Nothing here blocks except starting a process (about 0.3 ms each). Held bytes: at
// most kHighWater and one turn's worth per link, besides what the core holds. SIGCHLD is blocked
// and SIGPIPE ignored from the construction on; the process becomes a child subreaper, and every
// child of the process is reaped by the shell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/actions.h"
#include "nla/core/agent.h"
#include "nla/core/events.h"
#include "nla/spawn/factory.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

struct ShellOptions {
  Role role = Role::agent;
  std::string agent;   // path of scela-nla, started for children
  SpawnContext spawn;  // for agents of other machines; its agent and root are filled in
  // Root.
  std::function<void(const Action&)> on_action;  // the actions marked "root only", in order
  std::string record;                            // file for the core's events; empty: none
  // Agent.
  std::string node;           // name of this node
  Fd parent;                  // the link to the parent, or what comes from it
  Fd parent_out;              // invalid: `parent` goes both ways
  Fd leash;                   // to the guardian; invalid: there is none
  bool remote = false;        // the parent is on another machine
  char* mark_room = nullptr;  // for its mark (agent_mark.h); nullptr: it shows none
};

class Shell {
 public:
  // Error (io): the record file cannot be written. Error (internal): the system refuses the
  // essentials.
  static Result<std::unique_ptr<Shell>> create(ShellOptions options);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // Gives the core an event of the root's own (Begin, Launch, Stop, StdinRead, ...). May be called
  // from within on_action; it is handled after the event at hand.
  void post(Event event);

  // Until action::Finish was given and what was sent has left. The exit status of an agent.
  int run();

  // Whether all that was sent to children has been taken by their streams.
  bool all_sent() const;

  // For the root's own descriptors and timers: same loop, same thread.
  boost::asio::io_context& context();
  // Nanoseconds on the root's clock (root: its own monotonic clock).
  std::uint64_t root_clock_ns() const;
  // Why this process' part of the record (ShellOptions::record) ends before the job; else nothing.
  const std::optional<Error>& record_error() const;
  // The agent's own state, one line, for -v.
  std::string describe() const;

 private:
  struct State;
  explicit Shell(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
