#include "nla/core/agent/lost_nodes.h"

#include "common/core/text.h"
#include "nla/core/wire/contact.h"

namespace scela::nla {

RankSet LostNodes::report_failures(const Child& lost, const std::vector<Child>& orphans) {
  RankSet nodes = RankSet::run(lost.slice.first, lost.slice.size());
  nodes.remove(lost.handed_back);
  for (const Child& orphan : orphans)
    nodes.remove(RankSet::run(orphan.slice.first, orphan.slice.size()).minus(orphan.handed_back));
  const std::string why =
      cat(msg::kParentLost, contact_name(context_.host(lost.slice.first)), " was lost");
  nodes.for_each([&](std::uint32_t node) {
    if (node > lost.slice.first) report_node_failure(context_, {node, StartPhase::running, why});
  });
  return nodes;
}

void LostNodes::report(const RankSet& nodes) {
  const RankSet fresh = nodes.minus(reported_);
  // If the job is being ended, failures are not told to the agents any more.
  if (fresh.empty() || !context_.job || job_end_.terminating()) return;
  reported_.add(fresh);
  if (context_.is_root()) return spread(fresh);
  context_.send_up(msg::NodesLost{fresh});
}

void LostNodes::spread(const RankSet& nodes) {
  context_.lost_nodes.add(nodes);
  children_.broadcast(msg::NodesLost{nodes});
  if (!context_.own_ranks.empty()) context_.act(action::NodesLost{nodes});
}

bool LostNodes::from_child(Child& child, const msg::NodesLost& message) {
  if (!context_.job || !RankSet::run(child.slice.first, child.slice.size())
                            .minus(child.handed_back)
                            .contains_all(message.nodes)) {
    return false;
  }
  report(message.nodes);
  return true;
}

bool LostNodes::from_parent(const msg::NodesLost& message) {
  spread(message.nodes);
  return context_.job || job_end_.shutting_down();
}

void LostNodes::repeat_to_parent() {
  if (!reported_.empty()) context_.send_up(msg::NodesLost{reported_});
}

void LostNodes::send_to(const Child& child) {
  if (!context_.lost_nodes.empty()) context_.send(child.link, msg::NodesLost{context_.lost_nodes});
}

}  // namespace scela::nla
