#include "nla/core/agent/final_report.h"

#include <algorithm>

namespace scela::nla {

namespace {

// A node may send this many bytes of trace: several times what kMaxSpans (nla/io/constants.h) take.
// If it were smaller, the agent of a node with very many ranks would be taken for hostile. If it
// were larger, a hostile agent could keep the job from its end for longer.
constexpr std::uint64_t kMaxReport = std::uint64_t{64} * 1024 * 1024;

}  // namespace

void FinalReport::on(const event::SendTrace& event) {
  if (context_.is_root()) {
    context_.act(action::TracePiece{context_.node, event.last, event.bytes});
  } else {
    context_.send_up(msg::Report{context_.node, event.last, event.bytes});
  }
}

void FinalReport::on(const event::Measured& event) {
  if (context_.phase != Phase::measuring) return;
  const Stats all = totals(event);
  if (context_.is_root()) {
    context_.act(action::JobEnded{verdicts_.groups(), all});
  } else {
    context_.send_up(msg::Done{all});
    context_.done = true;
  }
  context_.phase = Phase::leaving;
}

Stats FinalReport::totals(const event::Measured& event) const {
  Stats all = below_;
  all.agents += context_.is_root() ? 0 : 1;
  all.messages += context_.messages + (context_.is_root() ? 0 : 1);  // counts the Done message too
  all.bytes += event.sent_bytes;
  all.output_bytes += output_.read_bytes();
  if (context_.is_root()) {
    all.root_cache_bytes = services_.cache_bytes();
  } else {
    all.max_private_bytes = std::max(all.max_private_bytes, event.private_bytes);
    all.max_resident_bytes = std::max(all.max_resident_bytes, event.resident_bytes);
    all.cache_bytes = std::max(all.cache_bytes, services_.cache_bytes());
  }
  return all;
}

bool FinalReport::may_end(const Child& child) const {
  return job_end_.shutting_down() || child.told_to_end;
}

// Reports come only at the end, only if the job is traced, and once from each node. If there is no
// job, only the shells know if it is traced.
bool FinalReport::from_child(Child& child, const msg::Report& message) {
  if (!may_end(child) || (context_.job && !context_.job->trace)) return false;
  if (!child.slice.contains(message.node) || traced_nodes_.contains(message.node)) return false;
  if (message.bytes.empty() && !message.last) return false;
  child.report_bytes += message.bytes.size();
  if (child.report_bytes > kMaxReport * child.slice.size()) return false;
  if (message.last) traced_nodes_.add(message.node);
  if (context_.is_root()) {
    context_.act(action::TracePiece{message.node, message.last, message.bytes});
  } else {
    context_.send_up(message);
  }
  return true;
}

bool FinalReport::from_child(Child& child, const msg::Done& message) {
  if (!may_end(child)) return false;
  if (const RankSet open = verdicts_.open(child.ranks); !open.empty()) {
    // A child that was adopted while the job ended has ended before it heard of the last worlds.
    if (!child.adopted) return false;
    verdicts_.record(open, {Ending::cancelled, 0, false, true, {}});
  }
  child.state = ChildState::done;
  inspections_.answer_for(child);
  output_.child_ended(child.link);
  below_.agents += message.stats.agents;
  below_.messages += message.stats.messages;
  below_.bytes += message.stats.bytes;
  below_.output_bytes += message.stats.output_bytes;
  below_.max_private_bytes = std::max(below_.max_private_bytes, message.stats.max_private_bytes);
  below_.max_resident_bytes = std::max(below_.max_resident_bytes, message.stats.max_resident_bytes);
  below_.cache_bytes = std::max(below_.cache_bytes, message.stats.cache_bytes);
  return true;
}

}  // namespace scela::nla
