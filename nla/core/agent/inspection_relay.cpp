#include "nla/core/agent/inspection_relay.h"

namespace scela::nla {

void InspectionRelay::on(const event::Inspect& event) {
  if (context_.is_root() && context_.phase == Phase::running) {
    ask_children({event.what, event.limit_ms, event.words});
  }
}

bool InspectionRelay::from_parent(const msg::Inspect& message) {
  if (context_.phase == Phase::waiting) return false;
  // After this phase the parent expects nothing but the end.
  if (context_.phase >= Phase::measuring) return true;
  ask_children(message);
  context_.act(action::InspectRanks{message.what, message.limit_ms, message.words});
  return true;
}

void InspectionRelay::ask_children(const msg::Inspect& message) {
  asked_ = true;
  for (Child& child : children_.all())
    child.inspected_bytes = 0;
  children_.broadcast(message);
  for (const Child& child : children_.all())
    if (child.state == ChildState::done || child.late) answer_for(child);
}

void InspectionRelay::on(const event::Inspected& event) {
  pass_on({context_.node, event.last, event.bytes});
}

bool InspectionRelay::from_child(Child& child, const msg::Inspected& message) {
  if (!child.covers(message.node)) return false;
  if (!asked_) return true;
  child.inspected_bytes += message.bytes.size();
  if (child.inspected_bytes > kMaxInspection * child.slice.size()) return true;
  pass_on(message);
  return true;
}

void InspectionRelay::answer_for(const Child& child) {
  if (!context_.is_root() || !asked_) return;
  for (std::uint32_t node = child.slice.first; node < child.slice.end; ++node)
    if (child.covers(node)) pass_on({node, true, {}});
}

void InspectionRelay::pass_on(const msg::Inspected& message) {
  if (context_.phase >= Phase::measuring) return;
  if (context_.is_root()) {
    context_.act(action::Inspected{message.node, message.last, message.bytes});
  } else {
    context_.send_up(message);
  }
}

}  // namespace scela::nla
