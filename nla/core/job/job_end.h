// The end of the job on an agent's subtree: the order to end the ranks, and the order to end the
// agents once the ranks have ended. This part passes both orders on to the children, and starts the
// timer that limits how long children may take. A verdict is how a rank ended. The agent's core
// uses it, and one thread at a time calls it.
#pragma once

#include <cstdint>

#include "nla/core/job/node_processes.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"

namespace scela::nla {

// The orders that the agent was given, by its parent or by what it has noticed itself.
enum class EndOrder : std::uint8_t {
  none,       // the job runs, or has yet to begin
  terminate,  // end the ranks of the subtree
  shut_down,  // every rank has its verdict, or none is waited for: end what is left
  terminate_and_shut_down,
};

class JobEnd {
 public:
  // All references are borrowed, from the same agent (nla/core/agent/agent_state.h).
  JobEnd(Context& context, Children& children, NodeProcesses& processes)
      : context_(context), children_(children), processes_(processes) {}

  // Returns true if the ranks of the subtree were ordered to end.
  bool terminating() const {
    return order_ == EndOrder::terminate || order_ == EndOrder::terminate_and_shut_down;
  }
  // Returns true if the agents of the subtree were ordered to end once their ranks have ended.
  bool shutting_down() const {
    return order_ == EndOrder::shut_down || order_ == EndOrder::terminate_and_shut_down;
  }
  // Returns true if any of the two orders was given.
  bool ordered() const { return order_ != EndOrder::none; }

  // Orders the ranks of the subtree to end: sends them the signal, and SIGKILL after the grace
  // (milliseconds). If the grace is 0, sends SIGKILL at once. Does nothing if the ranks are gone
  // already. May be called again.
  void terminate(std::int32_t signo, std::uint32_t grace_ms);
  // Orders the agents of the subtree to end what is left and to leave. To be called if every rank
  // has its verdict, or none is waited for.
  void shut_down();
  // Orders one child, of which all ranks have their verdicts, to end what is left and to leave.
  void shut_down_child(Child& child);
  // Shuts down an agent that has nothing to end yet: it has no children and no timer.
  void shut_down_alone() { order_shut_down(); }
  // Starts Timer::give_up anew: the children get the full time to end, from now on.
  void start_give_up_timer();
  // Sends a child that joined late the orders that were given before.
  void send_orders(LinkId child);

 private:
  // Records the order in order_.
  void order_shut_down();

  Context& context_;
  Children& children_;
  NodeProcesses& processes_;
  EndOrder order_ = EndOrder::none;
};

}  // namespace scela::nla
