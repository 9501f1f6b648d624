#include "nla/core/agent/held_requests.h"

#include <utility>

namespace scela::nla {

namespace {

// A child may have this many bytes of messages waiting, with what it takes to hold them. If it were
// smaller, a rank that sends many messages while other hosts are slow would cost its host. If it
// were larger, a hostile child could take more memory.
constexpr std::uint64_t kMaxHeld = std::uint64_t{64} * 1024 * 1024;

template <class... Kinds>
bool is_one_of(const Message& message) {
  return (std::holds_alternative<Kinds>(message) || ...);
}

// Returns true for requests that the ranks of several nodes have part in.
bool is_request(const Message& message) {
  return is_one_of<msg::CollectiveUp, msg::Put, msg::Get, msg::Answer, msg::RoutedMessage,
                   msg::NameAsked, msg::SpawnAsked, msg::WorldLaunched, msg::CutOff>(message);
}

// Returns true for what must not overtake the requests of the same rank. An abort may, because no
// rank needs an answer when the job ends.
bool ends_requests(const Message& message) {
  if (const auto* failure = std::get_if<msg::ProcessFail>(&message)) {
    return !failure->outcome.ends_job();
  }
  return is_one_of<msg::Verdicts, msg::NodeFailed, msg::NodesLost>(message);
}

}  // namespace

bool HeldRequests::hold(const event::Received& event) {
  if (!context_.launched_early || state_ == HeldState::passes) return false;
  if (state_ == HeldState::drops) return is_request(event.message);
  const bool waits = bytes_.contains(event.link);
  if (!is_request(event.message) && !(waits && ends_requests(event.message))) return false;
  bytes_[event.link] += sizeof event + encode(event.message).size();
  held_.push_back(event);
  return true;
}

bool HeldRequests::is_too_much(LinkId child) const {
  const auto at = bytes_.find(child);
  return at != bytes_.end() && at->second > kMaxHeld;
}

std::vector<event::Received> HeldRequests::take_ends(LinkId child) {
  std::vector<event::Received> ends;
  std::erase_if(held_, [&](const event::Received& event) {
    if (event.link != child) return false;
    if (ends_requests(event.message)) ends.push_back(event);
    return true;
  });
  bytes_.erase(child);
  return ends;
}

std::vector<event::Received> HeldRequests::release(bool goes_on) {
  state_ = goes_on ? HeldState::passes : HeldState::drops;
  bytes_.clear();
  if (!goes_on) std::erase_if(held_, [](const auto& event) { return is_request(event.message); });
  return std::exchange(held_, {});
}

}  // namespace scela::nla
