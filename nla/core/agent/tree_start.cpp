#include "nla/core/agent/tree_start.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"

namespace scela::nla {

namespace {

// A child may be silent for this long while all others are ready. This agent then starts the
// child's further nodes. If it were smaller, sessions that are under way anyway would gather at one
// agent. If it were larger, the nodes below a host that takes long to log in would wait longer.
constexpr std::uint32_t kSlowMs = 1000;

}  // namespace

void TreeStart::on(const event::Begin& event) {
  if (!context_.is_root() || context_.phase != Phase::waiting) return;
  context_.job_id = event.job_id;
  context_.hosts = event.hosts;
  context_.nodes = static_cast<std::uint32_t>(event.hosts.size());
  context_.slice = {0, context_.nodes};
  context_.degree = event.degree;
  context_.grace_ms = event.grace_ms;
  context_.settings = event.settings;
  context_.adopt_ms = event.adopt_ms;
  output_.open(kPresenterWindow);
  context_.phase = Phase::starting;
  children_.start(context_.slice);
}

bool TreeStart::from_parent(const msg::Start& message) {
  if (context_.is_root() || context_.phase != Phase::waiting || context_.nodes != 0) return false;
  if (message.version != kProtocolVersion || message.slice.first >= message.slice.end ||
      message.slice.end > message.nodes || message.degree == 0) {
    return false;
  }
  context_.job_id = message.job_id;
  context_.slice = message.slice;
  context_.node = message.slice.first;
  context_.nodes = message.nodes;
  context_.degree = message.degree;
  context_.grace_ms = message.grace_ms;
  context_.settings = message.settings;
  context_.parent = message.parent;
  context_.adopt_ms = message.adopt_ms;
  output_.open(message.output_window);
  context_.send_up(msg::Hello{kProtocolVersion, context_.node, message.clock_ns, 0});
  return true;
}

bool TreeStart::from_parent(const msg::SliceHosts& message) {
  if (context_.phase != Phase::waiting || context_.nodes == 0) return false;
  names_ += message.names.view();
  if (!message.last) return true;
  std::size_t at = 0;
  while (at < names_.size()) {
    const std::size_t end = names_.find('\n', at);
    if (end == std::string::npos) return false;
    context_.hosts.push_back(names_.substr(at, end - at));
    at = end + 1;
  }
  names_.clear();
  names_.shrink_to_fit();
  // If there are fewer hosts than nodes, the parent has started the last ones itself.
  if (context_.hosts.empty() || context_.hosts.size() > context_.slice.size()) return false;
  context_.slice.end = context_.slice.first + static_cast<std::uint32_t>(context_.hosts.size());
  context_.phase = Phase::starting;
  children_.start({context_.slice.first + 1, context_.slice.end});
  return true;
}

bool TreeStart::from_child(Child& child, const msg::Hello& message) {
  if (child.state != ChildState::starting || message.node != child.slice.first) return false;
  const auto alone = [&](const std::string& text) {
    return text.empty() ? TopologyList() : TopologyList{{text, RankSet::single(message.node)}};
  };
  if (message.version == kProtocolVersion &&
      (!are_topologies(alone(message.topology), context_.settings) ||
       !are_rendezvous(alone(message.rendezvous), context_.settings))) {
    return false;
  }
  if (message.version != kProtocolVersion) {
    const LinkId link = child.link;
    children_.failed(
        child, StartPhase::hello,
        cat("it speaks protocol version ", message.version, ", this side ", kProtocolVersion));
    context_.act(action::CloseLink{link});
    return true;
  }
  topologies_.hello(child.link, message.node, message.topology);
  rendezvous_.hello(child.link, message.node, message.rendezvous);
  children_.hello_received(child);
  return true;
}

bool TreeStart::from_child(Child& child, const msg::Ready& message) {
  if (child.state != ChildState::up || message.agents == 0 || message.agents > child.slice.size()) {
    return false;
  }
  if (!are_topologies(message.topologies, context_.settings) ||
      !are_rendezvous(message.rendezvous, context_.settings) ||
      !is_below(child, message.topologies) || !is_below(child, message.rendezvous)) {
    return false;
  }
  topologies_.add(child.link, message.topologies);
  rendezvous_.add(child.link, message.rendezvous);
  child.state = ChildState::ready;
  child.agents = message.agents;
  return true;
}

bool TreeStart::is_below(const Child& child, const TopologyList& told) {
  return std::ranges::all_of(told, [&](const auto& one) {
    const RankSet& nodes = one.second;
    return nodes.front() > child.slice.first && nodes.ranges().back().last < child.slice.end &&
           !nodes.intersects(child.handed_back);
  });
}

void TreeStart::slow_timer_fired() {
  slow_timer_runs_ = false;
  if (!complete_ && children_.only_slow_left()) children_.start_nodes_of_slow();
}

void TreeStart::advance() {
  if (!children_.all_ready()) return start_or_cancel_slow_timer(children_.only_slow_left());
  start_or_cancel_slow_timer(false);
  complete_ = true;
  if (context_.phase == Phase::starting) context_.phase = Phase::ready;
  if (job_end_.shutting_down()) return;
  if (context_.is_root()) {
    // The failures are counted, because what a child said when it became ready may be out of date.
    // If the ranks run already, an agent that was lost since was ready all the same.
    const RankSet& failed = context_.job ? context_.never_ready : context_.failed_nodes;
    context_.act(action::AllReady{context_.nodes - static_cast<std::uint32_t>(failed.size()),
                                  topologies_.list(), rendezvous_.list()});
  } else {
    if (!children_.all().empty()) children_.send_below();
    context_.send_up(
        msg::Ready{children_.ready_agents() + 1, topologies_.list(), rendezvous_.list()});
  }
}

void TreeStart::start_or_cancel_slow_timer(bool slow) {
  if (slow == std::exchange(slow_timer_runs_, slow)) return;
  if (slow) {
    context_.act(action::SetTimer{Timer::slow, kSlowMs});
  } else {
    context_.act(action::CancelTimer{Timer::slow});
  }
}

}  // namespace scela::nla
