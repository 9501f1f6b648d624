#include "comm-channel/net/peer_checks.h"

#include <algorithm>
#include <chrono>

#include "common/core/text.h"

namespace scela::channel {

namespace {

// The time between two checks whether silent peers are there, and the number of peers checked at a
// time.
constexpr connect::Time kBetweenQuestions = std::chrono::seconds(1);
constexpr std::size_t kMaxQuestions = 32;
// A peer that computes does not answer requests. The launcher usually reports a peer that has
// ended.
constexpr connect::Time kLongestSilence = std::chrono::minutes(10);
constexpr connect::Time kLongestPause = std::chrono::seconds(10);

}  // namespace

// No peer is given up before this process has looked kLooks times.
void PeerChecks::settle() {
  if (parts_.unsettled.empty()) return;
  constexpr int kLooks = 10;
  const connect::Time most = std::chrono::seconds(rules_.unreachable_after);
  parts_.unsettled.listen(most / kLooks);
  parts_.unsettled.remove_if([this](Remote& remote) { return settle(remote); });
}

// Returns true if nothing is left to send again or to report, and the peer is known to be there or
// is lost.
bool PeerChecks::settle(Remote& remote) {
  const Remote::Doubt& doubt = remote.doubt;
  const connect::Time most = std::chrono::seconds(rules_.unreachable_after);
  if (!remote.lost && doubt.since && parts_.unsettled.listened() - *doubt.since > most)
    parts_.ranks.lose(
        remote, cat("the adapter cannot reach it: ", doubt.why, ", and it has not answered for ",
                    rules_.unreachable_after, " s"));
  // With RC, an answer of another rank of the node says nothing about this one.
  const bool spoken_to = remote.flow.connected() || !remote.again.empty() ||
                         (parts_.device.by_rank() && doubt.since.has_value());
  const bool going = !remote.lost && spoken_to &&
                     parts_.slots.of_messages(remote).pair != nullptr &&
                     parts_.requests.send_again(remote);
  if (going && doubt.since && remote.paths.under_way() == 0) parts_.requests.post_question(remote);
  const bool told = remote.lost || parts_.refused.settle(remote, going);
  return remote.lost || (told && !doubt.since && remote.again.empty());
}

bool PeerChecks::is_awaited(const Remote& remote) const {
  return remote.attempt.is_wanted_since(kBetweenQuestions, parts_.device.now()) &&
         !route_to(remote);
}

void PeerChecks::look_around() {
  const connect::Time time = parts_.device.now();
  if (!parts_.device.works() || parts_.ports.is_leaving() ||
      time - looked_around_ < kBetweenQuestions)
    return;
  looked_around_ = time;
  const auto& remotes = parts_.ranks.all();
  std::size_t asked = 0;
  for (std::size_t i = 0; i < remotes.size() && asked < kMaxQuestions; ++i) {
    asked_last_ = (asked_last_ + 1) % remotes.size();
    Remote* const one = remotes[asked_last_].get();
    if (one == nullptr || one->lost || one->paths.under_way() != 0 || !one->flow.connected())
      continue;
    if (is_awaited(*one)) {
      // It may have ended well before there was a connection: then nothing is left to answer.
      if (has_left_ && has_left_(one->rank)) parts_.ranks.lose(*one, {}, RankTable::Notify::no);
      ++asked;
      continue;
    }
    // No link is opened only to ask.
    if (rules_.limited_links && !route_to(*one)) continue;
    parts_.requests.post_question(*one);
    ++asked;
  }
}

bool PeerChecks::is_connected(int rank) const {
  const Remote* const known = parts_.ranks.known(rank);
  if (known == nullptr) return false;
  // If links are limited, look_around() makes none to ask a rank that has none any more.
  const bool is_asked = !rules_.limited_links || route_to(*known);
  return known->attempt.is_wanted() || (known->flow.connected() && is_asked);
}

// The others, which may compute, then need not answer. With RC the path was that of one rank, which
// may have ended alone. Ranks that nothing was sent to are then asked too, unless that would take
// others' links.
void PeerChecks::doubt_node_of(int rank, const std::string& why) {
  const World& world = parts_.world;
  for (const int other : world.ranks_of(world.node_of[static_cast<std::size_t>(rank)])) {
    Remote& one = parts_.ranks.at(other);
    if (other == rank) one.doubt.path_of = rank;
    if (one.lost || one.doubt.since) continue;
    if (parts_.device.by_rank() && rules_.limited_links && !one.flow.connected()) continue;
    one.doubt = {parts_.unsettled.listened(), why, rank};
    parts_.unsettled.add(one);
  }
}

void PeerChecks::trust_node_of(int rank) {
  const World& world = parts_.world;
  for (const int other : world.ranks_of(world.node_of[static_cast<std::size_t>(rank)]))
    if (Remote* const one = parts_.ranks.known(other)) one->doubt.since.reset();
}

void PeerChecks::on_ended(int rank) {
  for (const auto& other : parts_.ranks.all())
    if (other && other->doubt.path_of == rank) other->doubt.since.reset();
}

// A peer that does not answer is asked again as long as something is to be sent to it, after
// growing pauses. Perhaps it is gone, and what is to be sent is credit that is not needed.
void PeerChecks::on_not_connected(Remote& remote, connect::Failure why) {
  const connect::Time now = parts_.device.now();
  remote.leaves = why == connect::Failure::leaving;
  const connect::Time silence = remote.attempt.fail(now);
  if (why == connect::Failure::unreachable && silence < kLongestSilence) {
    parts_.turns.end(remote.rank);
    return remote.attempt.ask_after(now + std::min(silence, kLongestPause));
  }
  const PortLinks& port = parts_.ports.first();
  Error error = connect::explain(why, port.peers().address(remote.paths.id()));
  const std::string& refused = port.pairs().why_no_pair();
  if (why == connect::Failure::resources && !refused.empty()) error.why += cat(": ", refused);
  if (why == connect::Failure::mode)
    error.why += cat("; this one's is ", parts_.device.device().capability.describe());
  const bool knows = why == connect::Failure::ended || why == connect::Failure::leaving;
  parts_.ranks.lose(remote, error.text(), knows ? RankTable::Notify::no : RankTable::Notify::yes);
}

}  // namespace scela::channel
