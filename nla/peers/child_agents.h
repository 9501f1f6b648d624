// The agents of other nodes that this process has started, with the links to them and the local
// processes that stand for them. An agent is the process of a job on a node. The shell, the code
// around this agent's core that makes system calls, uses this part on its loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/os/alarm.h"
#include "common/os/process/process_tree.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/heartbeat.h"
#include "nla/core/wire/contact.h"
#include "nla/link/factory.h"
#include "nla/node/job_keys.h"
#include "nla/node/shell_context.h"
#include "nla/spawn/factory.h"

namespace scela::nla {

// The change of a child's link to TCP (link_upgrade.h).
struct TcpUpgrade {
  enum class State : std::uint8_t {
    none,     // the link never changes
    planned,  // it changes once it has carried kChangeBytes or is kChangeAgeMs old
    asked,    // the child was asked for a port
    over,     // the link has changed, or the change has failed; it is not tried again
  };
  State state = State::none;
  std::optional<Alarm> timer;           // begins the change, then limits it
  std::unique_ptr<TlsAttempt> attempt;  // connects to the child by TCP
  std::string where;                    // the address to which `attempt` connects
  std::string network;                  // as the child was asked (LinkFrame::ask)
};

// How far the life of a child's agent has come, as far as this process sees it.
enum class ChildStage : std::uint8_t {
  starting,  // the spawner has not answered yet
  started,   // it runs, or nothing of it was ever started
  gone,      // ChildGone or ChildFailed was reported
};

// Another node's agent that this process has started, or adopted because its parent was lost.
struct ChildAgent {
  std::unique_ptr<Link> link;
  Contact contact;
  std::uint32_t node = 0;
  // One past the last node of its slice (the nodes that it looks after), as it was first.
  std::uint32_t end = 0;
  bool attach = false;         // it ran already, and is to be adopted
  std::uint64_t asked_ns = 0;  // when its start was requested
  // The session that its local process leads; 0: there is none.
  pid_t session = 0;
  // That process; 0: it was not started, or was reaped.
  pid_t pid = 0;
  // The status of waitpid() for that process.
  int status = 0;
  ChildStage stage = ChildStage::starting;
  bool closed = false;  // the other end of its link is closed
  // The end of its link was reported, or the core has given it up. It is not reported again.
  bool given_up = false;
  // Set while signs of life are expected: for links between machines that are established.
  std::optional<Heartbeat> heart;
  Stall stall;                          // of the same
  TcpUpgrade change;                    // of its link
  std::optional<Alarm> guardian_timer;  // while its guardian is stopped
  std::optional<Alarm> last_words;      // once its node is down, until the link is ended by force

  // Returns false for a child on this machine, for one with a link over TCP from the start, for one
  // that is to be adopted, and if the settings forbid that links change.
  bool may_change_link(const Settings& settings) const {
    return !contact.here() && !contact.waits && !attach && settings.link != kLinkSsh;
  }
};

class ChildAgents {
 public:
  // `listener` gets the events of the links. `descendants` finds the descendants of this process.
  // `spawn` says how agents are started. `started` is called for each child once its link has its
  // stream. The references are borrowed.
  ChildAgents(ShellContext& context, LinkListener& listener, JobKeys& keys,
              const Descendants& descendants, SpawnContext spawn,
              std::function<void(LinkId)> started)
      : context_(context),
        listener_(listener),
        keys_(keys),
        descendants_(descendants),
        spawn_(std::move(spawn)),
        started_(std::move(started)) {}

  // Starts the agent of a host, or attaches to the one that runs there. The core gets
  // event::ChildBegun, and event::ChildFailed if it fails.
  void carry_out(const action::StartChild& start);
  // Gives a child up: ends the link to it and cancels its start, or asks its local process to end.
  void carry_out(const action::CloseLink& close);
  // Sends the child what waits for it. If its link has not ended after kLastWords, ends it by
  // force.
  void carry_out(const action::LoseChild& lost);

  // Gives the child up: closes the link by force, reports its end to the core, and kills the
  // process that stands for it here.
  void lose(LinkId id, std::string why);
  // Call it if the link has ended. Reports event::LinkEnded, once.
  void link_ended(LinkId id, std::string why);
  // Call it if no process holds the other end of the link any more. Reports event::ChildGone if the
  // local process has ended too.
  void link_closed(LinkId id);
  // Takes the end of a child process of this process; `status` is that of waitpid(). A process that
  // does not belong to a child is left to the spawner.
  void reaped(pid_t pid, int status);
  // Call it if a child process was stopped by a signal. If the process stands for a child, it is
  // continued after kStoppedGuardianMs.
  void stopped(pid_t pid);

  // Returns the number of children that were ever started.
  std::size_t size() const { return children_.size(); }
  // Returns a child that was started; `id` is from 1 to size().
  ChildAgent& at(LinkId id) { return *children_[id - 1]; }
  // Returns nullptr if there is no such child.
  Link* link(LinkId id) { return id <= children_.size() ? children_[id - 1]->link.get() : nullptr; }

  // Writes to all links what is queued.
  void flush();
  // Returns true if a link has more than kHighWater bytes queued.
  bool full() const;
  // Returns true if no link has bytes queued.
  bool all_sent() const;
  // Call it if ShellContext::paused has changed: links are read or not read from now on.
  void follow_pause();
  // Returns the bytes of messages that were given to the links, in all.
  std::uint64_t sent_bytes() const;
  // Returns the sessions that stand here for the agents of other nodes, ascending. A link needs
  // such a session until it has ended, so no process of it is a leftover of this node. It is that
  // of a guardian, or of a program such as ssh and all that it runs.
  std::vector<pid_t> kept_sessions() const;

 private:
  // Makes the spawner start the agent of this link, or attach to a running one.
  void start(LinkId id);
  // Takes the spawner's result: attaches the stream to the link, or reports event::ChildFailed.
  void started(LinkId id, tl::expected<StartedAgent, SpawnFailure> result);
  // Call it if the child's link has ended or was given up: no sign of life of its agent is expected
  // any more, but its machine is waited for only while it answers.
  void await_end(ChildAgent& child);
  // Reports ChildGone, once, if the link is closed and its local process is reaped.
  void report_if_gone(LinkId id);

  ShellContext& context_;
  LinkListener& listener_;
  JobKeys& keys_;
  const Descendants& descendants_;
  SpawnContext spawn_;
  std::function<void(LinkId)> started_;
  std::unique_ptr<Spawner> spawner_;                   // once needed
  std::vector<std::unique_ptr<ChildAgent>> children_;  // position = link - 1
};

}  // namespace scela::nla
