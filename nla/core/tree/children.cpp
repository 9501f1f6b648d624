#include "nla/core/tree/children.h"

#include <algorithm>

#include "nla/core/tree/output_piece.h"

namespace scela::nla {

namespace {

// All children together may have this much output queued at their parent. If it were larger, every
// inner agent would need more memory. If it were smaller, there would be more credit messages when
// many children write at once.
constexpr std::uint32_t kOutputBudget = 1024 * 1024;
// Covers the round trip of a fast link.
constexpr std::uint32_t kLargestWindow = kOutputPiece;
// The root is one process of the job, so more may wait there: its children stop less often.
constexpr std::uint32_t kRootScale = 4;
constexpr std::uint32_t kSmallestWindow = 4 * 1024;  // if smaller, every write would wait

// The reason why a node failed has at most this many bytes; a part of it is shown. If it were
// larger, nodes that were taken over could take more memory at the root, for what they say of nodes
// below them.
constexpr std::size_t kMaxNodeWhy = 4096;

}  // namespace

std::uint32_t output_window(std::size_t children, bool at_root) {
  const std::uint32_t scale = at_root ? kRootScale : 1;
  const auto share =
      static_cast<std::uint32_t>(scale * kOutputBudget / std::max<std::size_t>(1, children));
  return std::clamp(share, kSmallestWindow, scale * kLargestWindow);
}

void report_node_failure(Context& context, msg::NodeFailed failure) {
  if (context.failed_nodes.contains(failure.node)) return;
  context.failed_nodes.add(failure.node);
  if (failure.why.size() > kMaxNodeWhy) failure.why.resize(kMaxNodeWhy);
  if (failure.phase != StartPhase::running) context.never_ready.add(failure.node);
  if (context.adopts() && !context.is_root()) context.failed_running.push_back(failure);
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
  // A child that is started while the job runs has none of the job's first ranks. So no agent waits
  // for first ranks of it.
  child.late = child.launched = child.ended_ranks = context_.job.has_value();
  context_.act(
      action::StartChild{child.link, slice.first, slice.end, context_.host(slice.first), false});

  msg::Start start;
  start.job_id = context_.job_id;
  start.slice = slice;
  start.nodes = context_.nodes;
  start.degree = context_.degree;
  child.window = start.output_window = output_window(
      std::max<std::size_t>(context_.degree, children_.size() + 1), context_.is_root());
  start.grace_ms = context_.grace_ms;
  start.settings = context_.settings;
  start.parent = context_.node;
  start.adopt_ms = context_.adopt_ms;
  context_.send(child.link, std::move(start));
  // Nodes can be taken from the child until it knows its slice's hosts. A child without further
  // nodes need not wait for them.
  if (slice.size() == 1) send_hosts(child);
  children_.push_back(std::move(child));
}

void Children::hello_received(Child& child) {
  child.state = ChildState::up;
  if (!child.knows_hosts) send_hosts(child);
}

void Children::send_hosts(Child& child) {
  child.knows_hosts = true;
  std::string names;
  for (std::uint32_t node = child.slice.first; node < child.slice.end; ++node) {
    names += context_.host(node);
    names += '\n';
    const bool last = node + 1 == child.slice.end;
    if (last || names.size() >= kMaxPiece / 2) {
      context_.send(child.link, msg::SliceHosts{last, Chunk(std::exchange(names, {}))});
    }
  }
}

// A child that waits for its turn (--fanout) is not slow. If more children are silent than ready,
// none counts as slow: logins take long here.
bool Children::only_slow_left() const {
  std::size_t silent = 0, ready = 0;
  bool work = false;
  for (const Child& child : children_) {
    if (child.state == ChildState::up) return false;
    if (child.state == ChildState::ready) ++ready;
    if (child.state != ChildState::starting) continue;
    if (!child.begun) return false;
    ++silent;
    work |= child.slice.size() > 1;
  }
  return work && silent <= ready && !took_ && !stopping_;
}

void Children::start_nodes_of_slow() {
  took_ = true;
  std::vector<Slice> taken;
  for (Child& child : children_) {
    if (child.state != ChildState::starting || child.slice.size() < 2) continue;
    taken.push_back({child.slice.first + 1, child.slice.end});
    child.slice.end = child.slice.first + 1;
    send_hosts(child);
  }
  for (const Slice& slice : taken)
    start(slice);
}

Child* Children::find(LinkId link) {
  return link >= 1 && link <= children_.size() ? &children_[link - 1] : nullptr;
}

Child* Children::child_with_rank(Rank rank) {
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
    // An agent that the root starts on one of these nodes would be refused by the others too. So
    // the root starts each of them itself.
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
  const bool ends = std::holds_alternative<msg::Terminate>(message) ||
                    std::holds_alternative<msg::Shutdown>(message);
  for (const Child& child : children_) {
    if (child.serving() && (!child.late || ends)) context_.send(child.link, message);
  }
}

bool Children::none_starting(const Slice& nodes) const {
  return std::none_of(children_.begin(), children_.end(), [&](const Child& child) {
    const bool begins = child.state == ChildState::starting || child.state == ChildState::up;
    return begins && nodes.contains(child.slice.first);
  });
}

// An orphan knows where its slice ends. An agent that has not heard of the lost parent's children
// knows only the slice that the orphan was started with. Nodes may have been taken from the orphan
// since. If a node was never ready, no agent above knows what became of its slice: it went on as
// one, or parts had been taken from it before. So the adopter never asks for too little, and Orphan
// says how much of it is right.
void Children::add_orphans(const Child& lost, Slice slice, bool guessed,
                           std::vector<Child>& orphans) const {
  // The root is the parent of nodes that were handed back.
  for (; slice.size() > 0 && lost.handed_back.contains(slice.first); ++slice.first)
    guessed = true;
  if (slice.size() == 0) return;
  const Slice rest{slice.first + 1, slice.end};
  if (context_.failed_nodes.contains(slice.first)) {  // its agent failed before its parent
    if (guessed || context_.never_ready.contains(slice.first)) {
      return add_orphans(lost, rest, true, orphans);
    }
    for (const Slice& part : split(rest, context_.degree))
      add_orphans(lost, part, false, orphans);
    return;
  }
  Child& orphan = orphans.emplace_back();
  orphan.handed_back = lost.handed_back;
  cover(orphan, slice);
  orphan.state = ChildState::adopting;
  orphan.adopted = true;
  orphan.slice_guessed = guessed;
  orphan.launched = lost.launched;
  orphan.some_ended = lost.some_ended;
  if (guessed) {
    orphan.below = {rest};
  } else {
    orphan.below = split(rest, context_.degree);
  }
}

void Children::cover(Child& child, Slice slice) const {
  child.slice = slice;
  child.handed_back = child.handed_back.intersection(RankSet::run(slice.first, slice.size()));
  child.ranks = context_.job->map.ranks_of(slice.first, slice.end);
  child.handed_back.for_each(
      [&](std::uint32_t node) { child.ranks.remove(context_.job->map.ranks_of(node)); });
}

std::vector<Child> Children::orphans_of(const Child& lost) const {
  std::vector<Child> orphans;
  for (const Slice& slice : lost.below)
    add_orphans(lost, slice, lost.slice_guessed, orphans);
  return orphans;
}

std::vector<Child> Children::corrected(Child& child, Slice slice) const {
  std::vector<Child> orphans;
  const Slice rest{slice.end, child.slice.end};
  if (slice.size() == 1 && !child.slice_guessed) {  // slow: its rest was taken as one
    for (const Slice& part : split(rest, context_.degree))
      add_orphans(child, part, false, orphans);
  } else {
    add_orphans(child, rest, true, orphans);
  }
  cover(child, slice);
  child.below = split({slice.first + 1, slice.end}, context_.degree);
  return orphans;
}

Child& Children::adopt(Child orphan, const std::vector<msg::Seen>& seen) {
  constexpr std::size_t kMax = 4096;  // in a message: each up to 17 bytes
  orphan.link = static_cast<LinkId>(children_.size() + 1);
  orphan.window = output_window(children_.size() + 1, context_.is_root());
  const std::uint32_t node = orphan.slice.first;
  context_.act(action::StartChild{orphan.link, node, node + 1, context_.host(node), true});
  msg::Adopt adopt;
  adopt.job_id = context_.job_id;
  adopt.parent = context_.node;
  adopt.slice = orphan.slice;
  adopt.output_window = orphan.window;
  std::size_t at = 0;
  do {
    const std::size_t end = std::min(seen.size(), at + kMax);
    adopt.seen.assign(seen.begin() + static_cast<std::ptrdiff_t>(at),
                      seen.begin() + static_cast<std::ptrdiff_t>(end));
    at = end;
    adopt.last = at == seen.size();
    context_.send(orphan.link, adopt);
  } while (!adopt.last);
  return children_.emplace_back(std::move(orphan));
}

bool Children::receive(Child& child, const msg::Below& message) {
  std::uint32_t from = child.slice.first + 1;
  for (const Slice& slice : message.slices) {
    if (slice.first < from || slice.end <= slice.first || slice.end > child.slice.end) return false;
    from = slice.end;
  }
  child.below = message.slices;
  return true;
}

void Children::send_below(const std::vector<Child>& orphans) {
  if (context_.adopt_ms == 0 || context_.is_root()) return;
  msg::Below below;
  for (const Child& child : children_) {
    if (child.serving()) below.slices.push_back(child.slice);
  }
  for (const Child& orphan : orphans)
    below.slices.push_back(orphan.slice);
  std::sort(below.slices.begin(), below.slices.end(),
            [](const Slice& a, const Slice& b) { return a.first < b.first; });
  context_.send_up(std::move(below));
}

void Children::know_job(const RankMap& map) {
  for (Child& child : children_) {
    // The rest of a failed child's slice was handed to a later child.
    const std::uint32_t end =
        child.state == ChildState::failed ? child.slice.first + 1 : child.slice.end;
    child.late = child.state == ChildState::starting || child.state == ChildState::up;
    child.ranks = map.ranks_of(child.slice.first, end);
    child.handed_back.for_each([&](std::uint32_t node) { child.ranks.remove(map.ranks_of(node)); });
  }
}

RankSet Children::add_ranks(Child& child, const RankSet& ranks) const {
  const RankMap& map = context_.job->map;
  RankSet more = map.ranks_of(child.slice.first, child.slice.end).intersection(ranks);
  child.handed_back.for_each([&](std::uint32_t node) { more.remove(map.ranks_of(node)); });
  child.ranks.add(more);
  return more;
}

}  // namespace scela::nla
