// The links of a tree of agent cores: messages, the starts of agents, adoptions, and ends.
//
// A message that is sent before the child runs is kept until then. One thread uses this part.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/tree/tree_events.h"
#include "tests/support/tree/tree_nodes.h"

namespace scela::nla::testing {

class TreeLinks {
 public:
  TreeLinks(TreeNodes& nodes, TreeEvents& events) : nodes_(nodes), events_(events) {}

  // Hosts on which no agent can be started.
  std::set<std::uint32_t> unreachable;
  // Hosts on which the start of the agent lasts until answer_of_slow().
  std::set<std::uint32_t> slow;
  // Hosts with an agent that may not start others.
  std::set<std::uint32_t> keyless;
  // If true, no attempt to adopt an agent arrives until release_attach().
  bool hold_attach = false;
  std::uint64_t sends = 0;

  void answer_of_slow() {
    slow.clear();
    for (const auto& [from, start] : std::exchange(starting_, {}))
      begin_agent(from, start);
  }
  void release_attach() {
    hold_attach = false;
    for (const auto& [orphan, adopter] : std::exchange(attaching_, {}))
      join(orphan, adopter.first, adopter.second);
  }
  // The agent dies, and both ends of its links see that.
  void crash(int node) {
    TreeNode& dead = nodes_.at(node);
    if (dead.state == TreeNode::State::dead) return;
    dead.state = TreeNode::State::dead;
    dead.running = {};
    end(dead, "crashed");
    for (const auto& [link, child] : dead.children) {
      if (nodes_.at(child).parent == node)
        events_.post(child, event::LinkEnded{kParentLink, "parent crashed"});
    }
  }

  void on(int from, action::Send& send) {
    ++sends;
    TreeNode& sender = nodes_.at(from);
    if (send.link == kParentLink) {
      if (from == 0) return;
      events_.post(sender.parent,
                   event::Received{sender.link_at_parent, std::move(send.message), 0});
    } else if (const auto child = sender.children.find(send.link); child != sender.children.end()) {
      events_.post(child->second, event::Received{kParentLink, std::move(send.message), 0});
    } else {
      unsent_[{from, send.link}].push_back(std::move(send.message));
    }
  }
  void on(int from, action::StartChild& start) {
    if (from != 0 && keyless.contains(nodes_.at(from).host)) {
      return events_.post(from,
                          event::ChildFailed{start.link, StartPhase::authenticate, "no key", true});
    }
    if (unreachable.contains(start.node)) {
      return events_.post(
          from, event::ChildFailed{start.link, StartPhase::connect, "connection refused", false});
    }
    if (start.attach) return attach(from, start.link, start.node);
    events_.post(from, event::ChildBegun{start.link});
    if (slow.contains(start.node)) {
      starting_.emplace_back(from, start);
    } else {
      begin_agent(from, start);
    }
  }
  void on(int from, action::AwaitAdoption& await) {
    nodes_.at(from).awaiting = await.still;
    const auto waiting = attaching_.find(from);
    if (!await.still || waiting == attaching_.end() || hold_attach) return;
    const auto [parent, link] = waiting->second;
    attaching_.erase(waiting);
    join(from, parent, link);
  }
  void on(int from, action::CloseLink& close) {
    const auto& children = nodes_.at(from).children;
    const auto child = children.find(close.link);
    if (child == children.end()) return;
    events_.post(child->second, event::LinkEnded{kParentLink, "closed"});
  }
  void on(int from, action::LoseChild& lost) {
    const auto& children = nodes_.at(from).children;
    const auto child = children.find(lost.link);
    if (child != children.end()) crash(child->second);
  }
  void on(int from, action::KillAgent&) { crash(from); }
  void on(int from, action::Finish&) {
    nodes_.at(from).state = TreeNode::State::left;
    if (from != 0) end(nodes_.at(from), "");
  }

 private:
  // Tells the parent that its link to this node has ended, and that the node is gone.
  void end(const TreeNode& node, const std::string& why) {
    events_.post(node.parent, event::LinkEnded{node.link_at_parent, why});
    events_.post(node.parent, event::ChildGone{node.link_at_parent});
  }
  void begin_agent(int from, const action::StartChild& start) {
    join(nodes_.add(start.node), from, start.link);
  }
  void attach(int from, LinkId link, std::uint32_t host) {
    const int orphan = nodes_.agent_of(host);
    if (orphan < 0) {
      return events_.post(from,
                          event::ChildFailed{link, StartPhase::connect, "nobody is there", false});
    }
    // An orphan may hear of its loss later.
    if (!nodes_.at(orphan).awaiting || hold_attach) {
      attaching_[orphan] = {from, link};
    } else {
      join(orphan, from, link);
    }
  }
  // The agent of node `child` gets a parent, which sends it what it has kept.
  void join(int child, int from, LinkId link) {
    TreeNode& node = nodes_.at(child);
    node.awaiting = false;
    node.parent = from;
    node.link_at_parent = link;
    nodes_.at(from).children[link] = child;
    for (auto& message : std::exchange(unsent_[{from, link}], {}))
      events_.post(child, event::Received{kParentLink, std::move(message), 0});
  }

  TreeNodes& nodes_;
  TreeEvents& events_;
  std::vector<std::pair<int, action::StartChild>> starting_;
  std::map<int, std::pair<int, LinkId>> attaching_;  // by orphan: its adopter and the link
  std::map<std::pair<int, LinkId>, std::vector<Message>> unsent_;
};

}  // namespace scela::nla::testing
