// The agents of other nodes that this process has started, with the links to them and the local
// processes that stand for them. The shell uses this part, on its loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/os/alarm.h"
#include "common/os/process_tree.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/heartbeat.h"
#include "nla/core/wire/contact.h"
#include "nla/link/factory.h"
#include "nla/node/job_keys.h"
#include "nla/node/shell_context.h"
#include "nla/spawn/factory.h"

namespace scela::nla {

// The change of a child's link to TCP (link_upgrade.h).
struct LinkChange {
  enum class State : std::uint8_t {
    none,     // the link never changes
    planned,  // it changes once it has carried kChangeBytes or is kChangeAgeMs old
    asked,    // the child was asked for a port
    over,     // the link has changed, or the change has failed; it is not tried again
  };
  State state = State::none;
  std::optional<Alarm> timer;           // begins the change, then limits it
  std::unique_ptr<TlsAttempt> attempt;  // connects to the child by TCP
};

// How far the life of a child's agent has come, as far as this process sees it.
enum class ChildStage : std::uint8_t {
  starting,  // the spawner has not answered yet
  started,   // it runs, or nothing of it was ever started
  gone,      // ChildGone or ChildFailed was reported
};

// Another node's agent, started from here.
struct ChildAgent {
  std::unique_ptr<Link> link;
  Contact contact;
  std::uint32_t node = 0;
  std::uint32_t end = 0;       // of its slice, as it was first
  bool attach = false;         // it ran already, and is to be adopted
  std::uint64_t asked_ns = 0;  // when its start was requested
  pid_t session = 0;           // of its local process; 0: there is none
  pid_t pid = 0;               // that process; 0: not started, or reaped
  int status = 0;              // of the reaped process
  ChildStage stage = ChildStage::starting;
  bool closed = false;                  // the other end of its link is closed
  bool given_up = false;                // its end is not reported any more
  std::optional<Heartbeat> heart;       // of established links between machines
  Stall stall;                          // of the same
  LinkChange change;                    // of its link
  std::optional<Alarm> guardian_timer;  // while its guardian is stopped

  // Returns false for a child on this machine, for one that is to be adopted, and if the settings
  // forbid that links change.
  bool may_change_link(const Settings& settings) const {
    return !contact.here() && !attach && settings.link != kLinkSsh;
  }
};

class ChildAgents {
 public:
  // `listener` is told about the links. `descendants` are those of this process. `spawn` says how
  // agents are started. `started` is called for each child once its link has its stream.
  ChildAgents(ShellContext& context, LinkListener& listener, JobKeys& keys,
              const Descendants& descendants, SpawnContext spawn,
              std::function<void(LinkId)> started)
      : context_(context),
        listener_(listener),
        keys_(keys),
        descendants_(descendants),
        spawn_(std::move(spawn)),
        started_(std::move(started)) {}

  // The meaning of both actions stands in nla/core/tree/actions.h.
  void carry_out(const action::StartChild& start);
  void carry_out(const action::CloseLink& close);

  // Gives the child up: closes the link by force, reports its end to the core, and kills the
  // process that stands for it here.
  void lose(LinkId id, std::string why);
  // The link has ended. Reports that, once.
  void link_ended(LinkId id, std::string why);
  // No process holds the other end of the link any more.
  void link_closed(LinkId id);
  // A process of this one has ended, or was stopped. Processes that are none of these are left
  // alone.
  void reaped(pid_t pid, int status);
  void stopped(pid_t pid);

  std::size_t size() const { return children_.size(); }
  // `id` is that of a child that was started: from 1 to size().
  ChildAgent& at(LinkId id) { return *children_[id - 1]; }
  // Returns nullptr if there is no such child.
  Link* link(LinkId id) { return id <= children_.size() ? children_[id - 1]->link.get() : nullptr; }

  void flush();
  // Returns true if a link has more than kHighWater bytes queued.
  bool full() const;
  // Returns true if no link has bytes queued.
  bool all_sent() const;
  // ShellContext::paused has changed.
  void follow_pause();
  std::uint64_t sent_bytes() const;  // given to the links, in all
  // Returns the sessions that stand here for the agents of other nodes, ascending. A link needs
  // such a session until it has ended, so no process of it is a leftover of this node. It is that
  // of a guardian, or of a program such as ssh and all that it runs.
  std::vector<pid_t> kept_sessions() const;

 private:
  // Makes the spawner start the agent of this link, or attach to a running one. The result comes to
  // started().
  void start(LinkId id);
  void started(LinkId id, tl::expected<StartedAgent, SpawnFailure> result);
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
