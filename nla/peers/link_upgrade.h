// The change of links from the stream that started an agent to TCP (decision D3), on the parent's
// side. The parent asks. The child listens at the address by which it was reached, and reports the
// port. The parent connects. If this is not possible, the link stays as it is. The shell uses this
// part, on its loop.
#pragma once

#include <string>

#include "nla/node/job_keys.h"
#include "nla/node/shell_context.h"
#include "nla/peers/child_agents.h"

namespace scela::nla {

class LinkUpgrade {
 public:
  LinkUpgrade(ShellContext& context, const JobKeys& keys, ChildAgents& children)
      : context_(context), keys_(keys), children_(children) {}

  // The child's link has its stream, and may change (ChildAgent::may_change_link()).
  void plan(LinkId id);
  // Asks the children for which a change is planned and which have carried enough bytes.
  void request_busy();
  // Connects to the port that the child has offered; 0: the child cannot listen.
  void connect(LinkId id, std::uint16_t port);
  // The child's change frame has come: the change has succeeded.
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
