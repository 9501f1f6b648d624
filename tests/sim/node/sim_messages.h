// The messages between agents: what agents send on their links, what arrives, and how links end.
//
// This part checks that an agent keeps to the rules of a link: which it has, what it may send and
// how much. One thread uses it.
#pragma once

#include "tests/sim/job/excuses.h"
#include "tests/sim/node/agents.h"
#include "tests/sim/node/node_ends.h"

namespace scela::sim {

class Messages {
 public:
  Messages(Run& run, Network& network, Nodes& nodes, const EndOfJob& end, const Excuses& excuses,
           Agents& agents, NodeEnds& node_ends)
      : run_(run),
        network_(network),
        nodes_(nodes),
        end_(end),
        excuses_(excuses),
        agents_(agents),
        node_ends_(node_ends) {}

  void on(std::uint32_t index, nla::action::Send& action);
  void on(std::uint32_t index, const nla::action::CloseLink& action);
  // Both are wrong in every schedule, since none has a resource manager that loses nodes.
  void on(std::uint32_t index, const nla::action::LoseChild& action);
  void on(std::uint32_t index, const nla::action::KillAgent& action);

  // The task deliver: the oldest message of this direction arrives.
  void deliver(std::uint32_t link_index, bool down);
  // The task end_seen: an end of the link sees that the link has ended.
  void end_seen(std::uint32_t link_index, bool by_child);
  // The task child_gone: the parent hears that nothing is left of its child.
  void child_gone(std::uint32_t link_index);

 private:
  // Returns what is wrong with a message that this agent sends on the link, or an empty text.
  std::string complaint(Link& link, bool up, const nla::Message& message) const;
  // Notes what the child is told by this message that arrives.
  void note_arrival(Link& link, const nla::Message& message);

  Run& run_;
  Network& network_;
  Nodes& nodes_;
  const EndOfJob& end_;
  const Excuses& excuses_;
  Agents& agents_;
  NodeEnds& node_ends_;
};

}  // namespace scela::sim
