// The shell around an agent's core. Descriptors, timers, child processes and signals become events,
// and actions become effects. Used by scela-nla (Role::agent) and by scela-run (Role::root,
// decision D1).
//
// One thread. The shell owns the core, the links, the ranks and the agents it started. Asio stays
// in the shell's own parts, which shell_state.h lists. Nothing here blocks except starting a
// process (about 0.3 ms each). Held bytes: at most kHighWater and one turn's worth per link,
// besides what the core holds. From the construction on, SIGCHLD is blocked and SIGPIPE is ignored.
// The process becomes a child subreaper, and the shell reaps every child of the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/agent.h"
#include "nla/core/tree/events.h"
#include "nla/dial/dial_in.h"
#include "nla/spawn/factory.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

// The options of a shell. Those of the other role are ignored.
struct ShellOptions {
  Role role = Role::agent;
  std::string agent;  // path of scela-nla, to start children
  // The facts that only this process knows for starting agents; the shell sets its members `agent`
  // and `root`.
  SpawnContext spawn;
  // For the root.
  std::function<void(const Action&)> on_action;  // actions marked "root only", in order
  std::string record;                            // file for the core's events; may be empty
  std::vector<pid_t> own_children;               // that the program has started before, for itself
  // For an agent.
  std::string node;  // name of this node
  Fd parent;         // the link to the parent, or its input
  Fd parent_out;     // invalid: `parent` goes both ways
  // Instead of `parent`: this agent has dialed in, and its parent connects to it.
  std::optional<DialedIn> dialed;
  std::string build;          // of this agent; needed with `dialed` only
  Fd guardian_socket;         // to the guardian; may be invalid
  bool remote = false;        // the parent is on another machine
  std::string removed;        // a file of the cache that had other bytes; empty: none
  char* mark_room = nullptr;  // nullptr: it shows none (nla/guard/agent_mark.h)
};

class Shell {
 public:
  // Makes a shell; run() starts it. Error (io): the record file cannot be written. Error
  // (internal): the system refuses the essentials.
  static Result<std::unique_ptr<Shell>> create(ShellOptions options);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // Gives the core an event of the root's own (event::Begin, Launch, Stop, StdinRead, ...). May be
  // called from within on_action; the event is handled after the current one. Does not block.
  void post(Event event);

  // Runs the loop until action::Finish was given and all messages to the parent have left. Returns
  // the exit status of the process: 0, or 1 if the loop was stopped before. Blocks.
  int run();
  // Returns true if this agent has dialed in, and scela-run has ended before it had a parent.
  bool was_in_vain() const;

  // Returns true if the streams of the children have taken all that was sent to them.
  bool all_sent() const;

  // Returns the loop, for the root's own descriptors and timers, which use it in the same thread.
  boost::asio::io_context& context();
  // Returns why this process' part of the record (ShellOptions::record) ends before the job, or
  // std::nullopt.
  const std::optional<Error>& record_error() const;

 private:
  struct State;
  explicit Shell(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
