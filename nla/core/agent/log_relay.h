// Log records on their way to the user: those of this agent's shell, and those of children, which
// are not trusted. The root, the agent inside scela-run, shows a record. Another agent sends it to
// its parent. The agent's core uses this part, and one thread at a time calls it.
#pragma once

#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"

namespace scela::nla {

class LogRelay {
 public:
  // `context` is borrowed.
  explicit LogRelay(Context& context) : context_(context) {}

  // Sends a record of this agent's shell towards the user.
  void on(const event::Say& event);
  // Sends a record towards the user. Log::node must be set: this agent's node or one below.
  void send(msg::Log log);
  // Passes a child's record on. A subtree that sends too much is cut short with a warning, and its
  // link goes on. Returns false if the child does not lead to the node that the record names.
  bool from_child(Child& child, const msg::Log& message);

 private:
  Context& context_;
};

}  // namespace scela::nla
