// The end of the job on an agent's subtree: the order to end the ranks, and the order to end the
// agents once the ranks have ended. This part passes both orders on to the children, and starts the
// timer that limits how long children may take. The agent's core uses it, and one thread at a time
// calls it.
#pragma once

#include <cstdint>

#include "nla/core/job/node_processes.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"

namespace scela::nla {

// The orders that the agent was given, from above or by what it has noticed itself.
enum class EndOrder : std::uint8_t {
  none,       // the job runs, or has yet to begin
  terminate,  // end the ranks of the subtree
  shut_down,  // every rank has its verdict, or none is waited for: end what is left
  terminate_and_shut_down,
};

class JobEnd {
 public:
  JobEnd(Context& context, Children& children, NodeProcesses& processes)
      : context_(context), children_(children), processes_(processes) {}

  // Return true if the ranks of the subtree were ordered to end, if the subtree ends once its ranks
  // have ended, and if any of the two is so.
  bool terminating() const {
    return order_ == EndOrder::terminate || order_ == EndOrder::terminate_and_shut_down;
  }
  bool shutting_down() const {
    return order_ == EndOrder::shut_down || order_ == EndOrder::terminate_and_shut_down;
  }
  bool ordered() const { return order_ != EndOrder::none; }

  // Ends the ranks of the subtree: sends them the signal, and SIGKILL after the grace. If the grace
  // is 0, sends SIGKILL at once.
  void terminate(std::int32_t signo, std::uint32_t grace_ms);
  // Every rank has its verdict, or none is waited for.
  void shut_down();
  // Shuts down an agent that has nothing to end yet: it has no children and no timer.
  void shut_down_alone() { order_shut_down(); }
  // Gives the children the full time to end, from now on.
  void start_give_up_timer();
  // Sends the orders that were given to a child that joined after them.
  void send_orders(LinkId child);

 private:
  void order_shut_down();

  Context& context_;
  Children& children_;
  NodeProcesses& processes_;
  EndOrder order_ = EndOrder::none;
};

}  // namespace scela::nla
