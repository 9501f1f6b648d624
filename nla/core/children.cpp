#include "nla/core/children.h"

#include <algorithm>

namespace scela::nla {

namespace {

// All children together may have this much output queued at their parent. Larger: more memory in
// every inner agent; smaller: more credit messages when many children write at once.
constexpr std::uint32_t kOutputBudget = 1024 * 1024;
constexpr std::uint32_t kLargestWindow = 64 * 1024;  // enough for the round trip of a fast link
constexpr std::uint32_t kSmallestWindow = 4 * 1024;  // a pipe's worth; below it every write waits

}  // namespace

std::uint32_t output_window(std::size_t children) {
  const auto share = static_cast<std::uint32_t>(kOutputBudget / std::max<std::size_t>(1, children));
  return std::clamp(share, kSmallestWindow, kLargestWindow);
}

void report_node_failure(Context& context, msg::NodeFailed failure) {
  if (context.failed_nodes.contains(failure.node)) return;
  context.failed_nodes.add(failure.node);
  if (context.is_root()) {
    context.act(action::NodeFailed{std::move(failure)});
  } else {
    context.send_up(std::move(failure));
  }
}

void Children::start(Slice below) {
  for (const Slice& part : split(below, context_.degree))
    start_one(part);
}

void Children::cancel_starts() {
  for (Child& child : children_) {
    if (child.state != ChildState::starting) continue;
    child.state = ChildState::failed;
    context_.act(action::CloseLink{child.link});
  }
}

void Children::start_one(Slice slice) {
  Child child;
  child.link = static_cast<LinkId>(children_.size() + 1);
  child.slice = slice;
  context_.act(action::StartChild{child.link, slice.first, context_.host(slice.first)});

  msg::Start start;
  start.job_id = context_.job_id;
  start.slice = slice;
  start.nodes = context_.nodes;
  start.degree = context_.degree;
  start.output_window = output_window(context_.degree);
  start.grace_ms = context_.grace_ms;
  start.settings = context_.settings;
  context_.send(child.link, std::move(start));

  std::string names;
  for (std::uint32_t node = slice.first; node < slice.end; ++node) {
    names += context_.host(node);
    names += '\n';
    const bool last = node + 1 == slice.end;
    if (last || names.size() >= kMaxPiece / 2) {
      context_.send(child.link, msg::SliceHosts{last, Chunk(std::exchange(names, {}))});
    }
  }
  children_.push_back(std::move(child));
}

Child* Children::find(LinkId link) {
  return link >= 1 && link <= children_.size() ? &children_[link - 1] : nullptr;
}

Child* Children::holding(Rank rank) {
  for (Child& child : children_) {
    if (child.serving() && child.ranks.contains(rank)) return &child;
  }
  return nullptr;
}

void Children::failed(Child& child, StartPhase phase, const std::string& why) {
  child.state = ChildState::failed;
  const Slice slice = child.slice;
  msg::NodeFailed failure{slice.first, phase, why};
  failures_.push_back(failure);
  report_node_failure(context_, std::move(failure));
  if (slice.size() < 2) return;
  if (stopping_) return;
  RankSet rest = RankSet::run(slice.first + 1, slice.size() - 1);
  rest.remove(child.handed_back);
  for (const RankSet::Range& run : rest.ranges())
    start_one({run.first, run.last + 1});  // `child` may dangle from here on
}

void Children::hand_back(Child& child) {
  child.state = ChildState::failed;
  const Slice slice = child.slice;
  child.handed_back = RankSet::run(slice.first, slice.size());
  context_.handed_back.add(child.handed_back);
  context_.send_up(msg::HandBack{slice});
}

bool Children::receive(Child& child, const msg::HandBack& message) {
  const Slice slice = message.slice;
  if (child.state != ChildState::up || slice.first <= child.slice.first ||
      slice.first >= slice.end || slice.end > child.slice.end) {
    return false;
  }
  const RankSet nodes = RankSet::run(slice.first, slice.size());
  if (child.handed_back.intersects(nodes)) return false;
  child.handed_back.add(nodes);
  if (!context_.is_root()) {
    context_.handed_back.add(nodes);
    context_.send_up(message);
  } else if (!stopping_) {
    // Who is refused at one node is refused below it too: the root starts each of these itself.
    for (std::uint32_t node = slice.first; node < slice.end; ++node)
      start_one({node, node + 1});  // `child` may dangle from here on
  }
  return true;
}

bool Children::all_ready() const {
  return std::none_of(children_.begin(), children_.end(), [](const Child& child) {
    return child.state == ChildState::starting || child.state == ChildState::up;
  });
}

bool Children::all_ended() const {
  return std::none_of(children_.begin(), children_.end(),
                      [](const Child& child) { return child.serving(); });
}

bool Children::all_gone() const {
  return std::all_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.gone; });
}

std::uint32_t Children::ready_agents() const {
  std::uint32_t total = 0;
  for (const Child& child : children_) {
    if (child.state == ChildState::ready) total += child.agents;
  }
  return total;
}

void Children::broadcast(const Message& message) {
  for (const Child& child : children_) {
    if (child.serving()) context_.send(child.link, message);
  }
}

void Children::know_job(const RankMap& map) {
  for (Child& child : children_) {
    // The rest of a failed child's slice was handed to a later child.
    const std::uint32_t end =
        child.state == ChildState::failed ? child.slice.first + 1 : child.slice.end;
    child.ranks = map.ranks_of(child.slice.first, end);
    child.handed_back.for_each([&](std::uint32_t node) { child.ranks.remove(map.ranks_of(node)); });
  }
}

}  // namespace scela::nla
