#include "nla/core/agent/lost_children.h"

#include <utility>

#include "common/core/text.h"
#include "nla/core/wire/contact.h"

namespace scela::nla {

namespace {

// After it has given children up, an agent waits for this long for what is left of their processes.
// It is less than the time that an agent has for each level of the tree (kSlackMs), so that an
// agent that waits both times is done before its own parent gives it up.
constexpr std::uint32_t kLastMs = 2000;

}  // namespace

void LostChildren::on(const event::ChildFailed& event) {
  Child* child = children_.find(event.link);
  if (child == nullptr) return;
  child->gone = true;
  if (!child->serving()) return;
  if (child->state == ChildState::adopting) return lost(*child, event.why);
  if (event.hand_back && !context_.is_root()) {
    children_.hand_back(*child);
  } else {
    children_.failed(*child, event.phase, event.why);
  }
}

void LostChildren::on(const event::ChildBegun& event) {
  if (Child* child = children_.find(event.link)) child->begun = true;
}

bool LostChildren::from_parent(const msg::NodeDown& message) {
  node_down(message);
  return context_.phase != Phase::waiting;
}

void LostChildren::node_down(const msg::NodeDown& message) {
  if (!context_.is_root() && message.node == context_.node) {
    context_.act(action::KillAgent{});
    return;
  }
  for (std::size_t i = 0; i < children_.all().size(); ++i) {
    Child& child = children_.all()[i];
    if (!child.serving() || !child.covers(message.node)) continue;
    const bool is_linked = child.state == ChildState::up || child.state == ChildState::ready;
    if (child.slice.first == message.node && !is_linked) {
      context_.act(action::CloseLink{child.link});
      return lost(child, message.why);
    }
    context_.send(child.link, message);
    if (child.slice.first != message.node) return;
    child.down = message.why;
    context_.act(action::LoseChild{child.link});
    return;
  }
}

void LostChildren::on(const event::ChildGone& event) {
  Child* child = children_.find(event.link);
  if (child == nullptr) return;
  child->gone = true;
  if (child->serving()) lost(*child, "its process ended");
}

void LostChildren::lost(Child& child, const std::string& reason, Loss loss) {
  const std::string why = child.down.empty() ? reason : child.down;
  const bool was_ready = child.state == ChildState::ready || child.state == ChildState::lost ||
                         child.state == ChildState::adopting;
  if (!was_ready) {
    children_.failed(
        child, child.state == ChildState::starting ? StartPhase::start_agent : StartPhase::hello,
        why);
    return;
  }
  std::vector<Child> orphans;
  if (loss == Loss::ended && may_adopt_from(child)) orphans = children_.orphans_of(child);
  RankSet ranks = child.ranks;
  for (const Child& orphan : orphans)
    ranks.remove(orphan.ranks);
  const bool first_time = child.state != ChildState::lost;
  RankSet gone;  // nodes
  child.state = ChildState::lost;
  // This comes before any agent hears of the loss: what was given up here must not be adopted
  // above.
  if (context_.adopts()) children_.send_below(orphans);
  if (first_time) {
    report_node_failure(context_, {child.slice.first, StartPhase::running, why});
    if (!context_.job || !job_end_.ordered()) gone = nodes_.report_failures(child, orphans);
  }
  output_.child_ended(child.link);
  services_.link_ended(child.link);
  failures_.lose(ranks, cat("the agent on ", contact_name(context_.host(child.slice.first)),
                            " was lost: ", why));
  nodes_.report(gone);
  services_.child_ended(child);
  child.ranks = ranks;
  if (!orphans.empty()) {
    const Child known = child;  // adopt() may move `child`
    adopt(known, std::move(orphans));
  }
  input_.child_ended();
}

void LostChildren::give_up() {
  if (!job_end_.terminating() && !output_.empty()) {
    // The reader of the output is slow. Children that wait for credit are in good health.
    job_end_.start_give_up_timer();
    return;
  }
  bool closed = false;
  for (std::size_t i = 0; i < children_.all().size(); ++i) {
    Child& child = children_.all()[i];
    if (child.serving() && may_go_on(child)) continue;
    closed = true;
    if (child.serving()) {
      context_.act(action::CloseLink{child.link});
      lost(child, "it did not end when told to", Loss::given_up);
    } else if (gave_up_) {
      // Its process cannot be waited for any longer.
      child.gone = true;
    } else if (!child.gone) {
      context_.act(action::CloseLink{child.link});
    }
  }
  gave_up_ = gave_up_ || closed;
  context_.act(action::SetTimer{Timer::give_up, kLastMs});
}

bool LostChildren::may_go_on(const Child& child) const {
  return context_.job && !job_end_.shutting_down() && child.state == ChildState::ready &&
         verdicts_.open(child.ranks).empty();
}

bool LostChildren::may_adopt_from(const Child& child) const {
  return context_.adopts() && context_.phase == Phase::running && child.state != ChildState::lost &&
         !job_end_.ordered() && !context_.parent_lost;
}

void LostChildren::adopt(const Child& lost, std::vector<Child> orphans) {
  for (Child& one : orphans) {
    one.ended_ranks = verdicts_.open(one.ranks).empty();
    const std::vector<msg::Seen> has = output_.seen(one.ranks);
    const Child& orphan = children_.adopt(std::move(one), has);
    input_.adopt(lost, orphan);
    services_.send_failed(orphan);
    nodes_.send_to(orphan);
    const RankSet ranks = orphan.ranks;
    services_.cut_off(ranks);
    if (!context_.is_root() && !ranks.empty()) context_.send_up(msg::CutOff{ranks});
  }
}

bool LostChildren::from_child(Child& child, const msg::Orphan& message) {
  const Slice& slice = message.slice;
  if (child.state != ChildState::adopting || slice.first != child.slice.first ||
      slice.end <= slice.first || slice.end > child.slice.end || message.agents == 0 ||
      message.agents > slice.size() || message.worlds > context_.job->worlds.size()) {
    return false;
  }
  const LinkId link = child.link;
  if (slice != child.slice) correct(child, slice);
  Child& orphan = *children_.find(link);  // correct() may have moved it
  orphan.slice_guessed = false;
  orphan.state = ChildState::ready;
  orphan.agents = message.agents;
  input_.resume(orphan, message);
  terminal_.send_to(orphan);
  spawns_.send_worlds(orphan, message.worlds);
  return true;
}

// The child answers for a smaller slice than was assumed. The rest of that slice has other parents,
// or had: agents that were lost together with this child's parent. If the job is being ended, the
// orphans that are adopted here are told to end too.
void LostChildren::correct(Child& child, Slice slice) {
  RankSet ranks = child.ranks;
  std::vector<Child> orphans = children_.corrected(child, slice);
  child.ended_ranks = verdicts_.open(child.ranks).empty();
  ranks.remove(child.ranks);
  if (context_.parent_lost) orphans.clear();
  for (const Child& orphan : orphans)
    ranks.remove(orphan.ranks);
  children_.send_below(orphans);
  failures_.lose(ranks, "its agent and those above it were lost");
  const std::size_t before = children_.all().size();
  const Child known = child;  // adopt() may move `child`
  adopt(known, std::move(orphans));
  for (std::size_t i = before; i < children_.all().size(); ++i)
    job_end_.send_orders(children_.all()[i].link);
}

}  // namespace scela::nla
