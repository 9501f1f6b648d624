// The size of the user's terminal, on its way down the tree of agents to the agent of the rank that
// has a terminal (Job::terminal_ranks). The agent's core uses this part, and one thread at a time
// calls it.
#pragma once

#include <optional>

#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"

namespace scela::nla {

class TerminalSize {
 public:
  // The references are borrowed.
  TerminalSize(Context& context, const Children& children)
      : context_(context), children_(children) {}

  // At the root: takes the new size and sends it down. Has no effect unless the ranks run.
  void on(const event::WindowChanged& event);
  // Sends the size to the terminal's rank, on this node or below. The job must be known. Returns
  // false if no rank here or below has a terminal.
  bool resize(const WindowSize& size);
  // Sends the child the present size, if one is known and a rank below the child has a terminal.
  void send_to(const Child& child);

 private:
  Context& context_;
  const Children& children_;
  std::optional<WindowSize> size_;  // known once it has changed
};

}  // namespace scela::nla
