// The health of the links to other machines (decision D3, nla/core/tree/heartbeat.h): sends beats,
// and treats peers as lost that are silent or take no bytes. A link is the connection between an
// agent and its parent. The shell, the code around the agent's core that makes system calls, uses
// this part on its loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/os/alarm.h"
#include "nla/core/tree/heartbeat.h"
#include "nla/io/host_probe.h"
#include "nla/node/job_keys.h"
#include "nla/node/shell_context.h"
#include "nla/peers/child_agents.h"
#include "nla/peers/parent_connection.h"

namespace scela::nla {

class LinkHealth {
 public:
  // All references are borrowed.
  LinkHealth(ShellContext& context, const JobKeys& keys, ChildAgents& children,
             ParentConnection& parent)
      : context_(context), keys_(keys), children_(children), parent_(parent) {}

  // Begins to expect signs of life of the parent.
  void watch_parent();
  // Begins to expect signs of life of a child, unless the settings have no heartbeats.
  void watch_child(ChildAgent& child);
  // Call it if the parent is gone, or is about to be replaced: no sign of life is expected of it.
  void unwatch_parent();
  // Call it if the period of beats in ShellContext::settings may have changed.
  void settings_changed();
  // Returns the error text for a peer that was silent too long.
  std::string silence() const;

 private:
  // Sets the timer of all heartbeats to the next tick. Stops it if the period is 0.
  void arm();
  // Counts one tick for the links to children: sends beats, and gives silent children up.
  void beat_children();
  // Counts one tick for the link to the parent: sends a beat, or gives a silent parent up.
  void beat_parent();
  // Asks the kernel of scela-run's machine for a sign of life (nla/io/host_probe.h). If there is an
  // answer, it counts as a beat. Does nothing if the parent is another agent, or if the connection
  // of scela-run is known to be closed.
  void probe_parent();

  ShellContext& context_;
  const JobKeys& keys_;
  ChildAgents& children_;
  ParentConnection& parent_;
  std::optional<Alarm> timer_;  // one for all links
  std::optional<Heartbeat> parent_heart_;
  std::unique_ptr<HostProbe> parent_probe_;
  bool parent_connection_known_ = false;  // seen when the parent was first watched
};

}  // namespace scela::nla
