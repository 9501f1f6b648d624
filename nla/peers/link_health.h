// The health of the links to other machines (decision D3, nla/core/tree/heartbeat.h): beats, and
// the loss of peers that are silent or take no bytes. The shell uses this part, on its loop.
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
  LinkHealth(ShellContext& context, const JobKeys& keys, ChildAgents& children,
             ParentConnection& parent)
      : context_(context), keys_(keys), children_(children), parent_(parent) {}

  // Both functions begin to expect signs of life of the peer.
  void watch_parent();
  void watch_child(ChildAgent& child);
  // The parent is gone, or is about to be replaced: no sign of life is expected of it.
  void unwatch_parent();
  // The period of beats in ShellContext::settings may have changed.
  void settings_changed();
  // Returns the error text for a silent peer.
  std::string silence() const;

 private:
  // Sets the timer of all heartbeats to the next tick. Stops it if the period is 0.
  void arm();
  // One tick of all links.
  void beat_children();
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
