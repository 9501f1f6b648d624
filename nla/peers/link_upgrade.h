// The change of links from the stream that started an agent (ssh) to TCP (decision D3), on the
// parent's side. The parent asks. The child listens at the address by which it was reached, or at
// one in the network that the user has chosen (Settings::network), and reports it. The parent
// connects. If this is not possible, the link stays as it is. The
// shell, the code around the agent's core that makes system calls, uses this part on its loop.
// Frames are those of nla/core/wire/link_frames.h.
#pragma once

#include <string>

#include "nla/core/wire/link_frames.h"
#include "nla/node/job_keys.h"
#include "nla/node/shell_context.h"
#include "nla/peers/child_agents.h"

namespace scela::nla {

class LinkUpgrade {
 public:
  // All references are borrowed.
  LinkUpgrade(ShellContext& context, const JobKeys& keys, ChildAgents& children)
      : context_(context), keys_(keys), children_(children) {}

  // Call it if the child's link has its stream, and may change (ChildAgent::may_change_link()). The
  // change begins when the link is kChangeAgeMs old, and at once if the settings demand TCP.
  void plan(LinkId id);
  // Asks for a port those children with a planned change that have carried kChangeBytes. Called
  // after each turn of the loop.
  void request_busy();
  // Takes the child's answer: connects to what it has offered.
  void connect(LinkId id, const Offer& offer);
  // Call it if the child's change frame has come: the change has succeeded.
  void changed(LinkId id);

 private:
  // Asks the child for a port.
  void request(LinkId id);
  // Reports that the link stays as it is. If the settings demand TCP, gives the child up instead.
  void failed(LinkId id, const std::string& why);

  ShellContext& context_;
  const JobKeys& keys_;
  ChildAgents& children_;
};

}  // namespace scela::nla
