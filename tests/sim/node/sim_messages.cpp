#include "tests/sim/node/sim_messages.h"

#include "common/core/text.h"

namespace scela::sim {

namespace action = nla::action;
namespace event = nla::event;
namespace msg = nla::msg;

void Messages::on(std::uint32_t index, action::Send& action) {
  const Node& node = nodes_[index];
  const bool up = action.link == nla::kParentLink;
  if (up ? index == 0 : action.link > node.children.size()) {
    return run_.fail(
        cat(nodes_.name(index), " sends on link ", action.link, ", which it does not have"));
  }
  const std::uint32_t number = up ? node.up : node.children[action.link - 1];
  const std::string wrong = complaint(network_.at(number), up, action.message);
  if (!wrong.empty()) return run_.fail(cat(nodes_.name(index), wrong));
  network_.send(number, !up, std::move(action.message));
}

std::string Messages::complaint(Link& link, bool up, const nla::Message& message) const {
  if (link.end_told[up ? 1 : 0])
    return cat(" sends ", nla::name_of(message), " on a link that has ended");
  if (up && link.done_sent) return cat(" sends ", nla::name_of(message), " after Done");
  link.done_sent = up && std::holds_alternative<msg::Done>(message);
  if (const auto* start = std::get_if<msg::Start>(&message)) link.alone = start->slice.size() == 1;
  if (std::holds_alternative<msg::SliceHosts>(message) && !link.alone && !link.begun)
    return cat(" takes work from host ", link.host, ", which waits for its turn");
  if (const auto* output = std::get_if<msg::Output>(&message); output != nullptr && up) {
    link.output_sent += output->bytes.size();
    if (link.output_sent > link.output_credit)
      return " sends more output than its parent gave credit for";
  }
  return {};
}

void Messages::on(std::uint32_t index, const action::LoseChild& action) {
  run_.fail(cat(nodes_.name(index), " takes the node behind link ", action.link, " for lost"));
}

void Messages::on(std::uint32_t index, const action::KillAgent&) {
  run_.fail(cat(nodes_.name(index), " takes its own node for lost"));
}

void Messages::on(std::uint32_t index, const action::CloseLink& action) {
  const Node& node = nodes_[index];
  if (action.link < 1 || action.link > node.children.size()) {
    return run_.fail(
        cat(nodes_.name(index), " closes link ", action.link, ", which it does not have"));
  }
  const std::uint32_t number = node.children[action.link - 1];
  const Link& link = network_.at(number);
  // A start is not waited for when the job is being ended.
  const bool cancelled = !link.heard && (nodes_.severed(index) || excuses_.needs_no_more());
  if (!end_.gave_up() && !cancelled) {
    return run_.fail(
        cat(nodes_.name(index), " gives up host ", link.host, ", which has kept to the protocol"));
  }
  network_.close_by_parent(number);
}

void Messages::deliver(std::uint32_t link_index, bool down) {
  Link& link = network_.at(link_index);
  nla::Message message;
  std::string fault;
  if (!network_.take(link_index, down, message, fault)) return;
  if (!fault.empty()) return run_.fail(fault);
  if (down) {
    note_arrival(link, message);
  } else {
    link.heard = true;
  }
  run_.note(message.index());
  agents_.give(down ? link.child : link.parent,
               event::Received{down ? nla::kParentLink : link.parent_link, std::move(message),
                               run_.now * 1000});
}

void Messages::note_arrival(Link& link, const nla::Message& message) {
  if (const auto* start = std::get_if<msg::Start>(&message)) {
    link.output_credit = start->output_window;
  } else if (const auto* adopt = std::get_if<msg::Adopt>(&message)) {
    link.output_credit = adopt->output_window;
    if (adopt->last && link.child != kNobody) nodes_[link.child].adoption = Adoption::none;
  } else if (const auto* credit = std::get_if<msg::Credit>(&message)) {
    link.output_credit += credit->bytes;
  }
}

void Messages::end_seen(std::uint32_t link_index, bool by_child) {
  Link& link = network_.at(link_index);
  link.end_told[by_child ? 1 : 0] = true;
  if (by_child) return agents_.give(link.child, event::LinkEnded{nla::kParentLink, "it broke"});
  agents_.give(link.parent, event::LinkEnded{link.parent_link, "it broke"});
}

void Messages::child_gone(std::uint32_t link_index) {
  const Link& link = network_.at(link_index);
  agents_.give(link.parent, event::ChildGone{link.parent_link});
  node_ends_.check_gone(link.parent);
}

}  // namespace scela::sim
