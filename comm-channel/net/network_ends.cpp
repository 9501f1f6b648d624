// Requests that came back, and peers that are gone. See docs/design/channel.md, Ends.
#include <algorithm>
#include <iterator>
#include <utility>

#include "comm-channel/engine/operation.h"
#include "comm-channel/net/network_link.h"
#include "common/core/text.h"

namespace scela::channel {

namespace event = connect::event;
using connect::PeerId;

namespace {

// The time between two checks whether silent peers are there, and the number of peers checked at a
// time.
constexpr connect::Time kBetweenQuestions = std::chrono::seconds(1);
constexpr std::size_t kMaxQuestions = 32;
// A peer that computes does not answer requests. The launcher usually reports a peer that has
// ended.
constexpr connect::Time kLongestSilence = std::chrono::minutes(10);
constexpr connect::Time kLongestPause = std::chrono::seconds(10);

// Returns whether nothing has answered, or a valid message was not carried out. In the second case
// a process is just about to end there.
bool is_of_the_way(ibv_wc_status status, bool message) {
  return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RESP_TIMEOUT_ERR ||
         (message && status == IBV_WC_REM_OP_ERR);
}

// Excludes errors of this process's own adapter, which knows what is wrong here.
bool is_of_the_other_side(ibv_wc_status status) {
  return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR ||
         status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ABORT_ERR;
}

}  // namespace

// ---- requests that came back ----

void NetworkLink::free_work(Work& work) {
  if (work.move == nullptr && work.bytes != nullptr) sends_->give_back(work.bytes);
  works_.give_back(work);
}

// Ends one part of a move. Returns the operation if that was the last part.
Operation* NetworkLink::over(Move& move, Outcome outcome) {
  if (move.outcome == Outcome::none) move.outcome = outcome;
  if (--move.parts != 0) return nullptr;
  Operation* const operation = move.operation;
  moves_.give_back(move);
  return operation;
}

void NetworkLink::tell_moved(Move& move, Outcome outcome, NetworkUser& user) {
  const Outcome worst = move.outcome == Outcome::none ? outcome : move.outcome;
  if (Operation* const operation = over(move, outcome)) user.moved(*operation, worst);
}

void NetworkLink::end(Work& work, Outcome outcome) {
  if (work.move != nullptr) {
    const Outcome worst = work.move->outcome == Outcome::none ? outcome : work.move->outcome;
    if (Operation* const operation = over(*work.move, worst)) over_.emplace_back(operation, worst);
  }
  free_work(work);
}

void NetworkLink::break_pair(const Work& work) {
  if (work.pair->broken) return;
  work.pair->broken = true;
  PortLinks& port = *ports_[work.port];
  if (port.pair(work.qp) == work.pair) port.tell(event::Broken{work.qp});
}

// The first completion says what is wrong; the requests behind it were not carried out. Requests
// that may or may not have arrived are sent again by another queue pair. The receiver recognizes a
// message by its number; bytes that are written or read twice are the same.
void NetworkLink::came_back(Work& work, const ibv_wc& wc, NetworkUser& user) {
  Remote& to = *remotes_[static_cast<std::size_t>(work.rank)];
  const char* const what = device_.symbols->ibv_wc_status_str(wc.status);
  if (wc.status == IBV_WC_RNR_RETRY_EXC_ERR) ++rnr_events_;
  break_pair(work);
  const bool message = work.move == nullptr;
  const bool slot = is_of_the_way(wc.status, message);
  if (slot && !to.lost) doubt_node_of(work.rank, what);
  if (slot) to.paths[work.port].not_before = now() + kPauseOfPort;
  const bool refused = !slot && wc.status != IBV_WC_WR_FLUSH_ERR &&
                       wc.status != IBV_WC_RNR_RETRY_EXC_ERR;  // no buffer just then
  if (!message && refused && !to.lost && is_of_the_other_side(wc.status)) return hold(to, work);
  if (!message && (refused || to.lost)) {
    Move& move = *work.move;
    const bool ended = to.lost;
    free_work(work);
    return tell_moved(move, ended ? Outcome::peer_ended : Outcome::device, user);
  }
  // The queue where the rank receives is gone: the rank has ended.
  if (message && refused && wc.status == IBV_WC_REM_INV_REQ_ERR)
    lose(to, {}, Tells::no);
  else if (message && refused)
    lose(to, cat("it refuses what is sent to it: ", what));
  if (to.lost || (message && work.bytes == nullptr)) return free_work(work);
  ++resent_;
  go_again(to, work);
}

void NetworkLink::go_again(Remote& to, Work& work) {
  to.again.push_back(&work);
  unsettle(to);
}

void NetworkLink::unsettle(Remote& remote) {
  if (remote.unsettled) return;
  remote.unsettled = true;
  if (unsettled_.empty()) settled_at_ = now();
  unsettled_.push_back(&remote);
}

// Others may have said something that this process has not heard, since it computed, was stopped or
// waited for a processor. So no peer is given up before this process has looked kLooks times.
void NetworkLink::settle() {
  if (unsettled_.empty()) return;
  constexpr int kLooks = 10;
  const connect::Time time = now();
  const connect::Time most = std::chrono::seconds(options_.unreachable_after);
  listened_ += std::min(time - settled_at_, most / kLooks);
  settled_at_ = time;
  std::erase_if(unsettled_, [this](Remote* remote) { return settle(*remote); });
}

// Returns true if nothing is left to send again or to report, and the peer is known to be there or
// is lost.
bool NetworkLink::settle(Remote& remote) {
  const connect::Time most = std::chrono::seconds(options_.unreachable_after);
  if (!remote.lost && remote.doubted && listened_ - *remote.doubted > most)
    lose(remote, cat("the adapter cannot reach it: ", remote.doubt,
                     ", and it has not answered for ", options_.unreachable_after, " s"));
  // With RC, an answer of another rank of the node says nothing about this one.
  const bool spoken_to =
      remote.flow.connected() || !remote.again.empty() || (by_rank() && remote.doubted.has_value());
  const bool going =
      !remote.lost && spoken_to && slot_to(remote).pair != nullptr && send_again(remote);
  if (going && remote.doubted && remote.paths.front().under_way == 0) ask(remote);
  const bool told = remote.lost || settle_refused(remote, going);
  if (!remote.lost && (!told || remote.doubted || !remote.again.empty())) return false;
  remote.unsettled = false;
  return true;
}

// ---- refused moves ----

// Either the buffer is not there, or the process is about to end: its memory goes before its end is
// known. So the user is told only when it is known which of the two it is.
void NetworkLink::hold(Remote& to, Work& work) {
  unsettle(to);
  if (to.refused.empty()) to.refused_at = listened_;
  to.refused.push_back(&work);
}

// Sends a message: if it comes into the peer's memory, the peer has memory. With RC this takes a
// new connection, which the peer's program makes.
void NetworkLink::question(Remote& remote) {
  const SendSlot slot = slot_to(remote);
  std::byte* const buffer = slot.pair != nullptr ? sends_->take() : nullptr;
  if (buffer == nullptr) return;
  const Room room = flow_.room_for_answer(remote.flow);
  if (room == Room::none) return sends_->give_back(buffer);
  remote.question = buffer;
  remote.questioned = remote.refused.size();
  Header header;
  header.kind = Kind::credit;
  header.source = world_.rank;
  const Credit nothing;
  send_in(remote.rank, slot, room, header, bytes_of(nothing), buffer);
}

// The peer has its memory, so the buffer was not there.
void NetworkLink::answered(Remote& remote) {
  remote.question = nullptr;
  remote.refused_at = listened_;
  if (!remote.lost) end_refused(remote, std::exchange(remote.questioned, 0), Outcome::device);
}

// Returns whether all refused parts were reported.
bool NetworkLink::settle_refused(Remote& remote, bool going) {
  if (remote.refused.empty()) return true;
  if (going && remote.question == nullptr) question(remote);
  // The peer computes, or has ended without a report. If it is doubted, that is known soon.
  const connect::Time most = std::chrono::seconds(options_.unreachable_after);
  if (remote.doubted || listened_ - remote.refused_at <= most) return false;
  remote.questioned = 0;
  end_refused(remote, remote.refused.size(), Outcome::device);
  return true;
}

// Ends the first `count` refused parts.
void NetworkLink::end_refused(Remote& remote, std::size_t count, Outcome outcome) {
  for (; count != 0; --count) {
    Work& work = *remote.refused.front();
    remote.refused.pop_front();
    end(work, outcome);
  }
}

// ---- checking the peers ----

// Posts a write of no bytes: it uses no buffer, and the other program need not look. It names the
// queue where the rank receives, so it is refused if that rank has ended.
void NetworkLink::ask(Remote& remote) {
  const SendSlot slot = slot_to(remote);
  if (slot.pair == nullptr) return;
  Work& work = works_.take();
  work.rank = remote.rank;
  work.move = nullptr;
  work.bytes = nullptr;
  work.length = 0;
  work.left = 0;
  work.opcode = IBV_WR_RDMA_WRITE;
  work.remote_address = 0;
  work.key = 0;
  if (!post(0, slot, work)) works_.give_back(work);
}

// Returns whether the peer was asked for a connection and has not answered for some time.
bool NetworkLink::is_awaited(const Remote& remote) const {
  return remote.wanted && now() - *remote.wanted >= kBetweenQuestions &&
         !ports_.front()->peers().route(remote.paths.front().id);
}

void NetworkLink::look_around() {
  const connect::Time time = now();
  if (dead_ || leaving_ || time - looked_around_ < kBetweenQuestions) return;
  looked_around_ = time;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < remotes_.size() && asked < kMaxQuestions; ++i) {
    asked_last_ = (asked_last_ + 1) % remotes_.size();
    Remote* const one = remotes_[asked_last_].get();
    if (one == nullptr || one->lost || one->paths.front().under_way != 0 || !one->flow.connected())
      continue;
    if (is_awaited(*one)) {
      // It may have ended well before there was a connection: then nothing is left to answer.
      if (has_left_ && has_left_(one->rank)) lose(*one, {}, Tells::no);
      ++asked;
      continue;
    }
    // No link is opened only to ask.
    if (options_.max_links != 0 && !ports_.front()->peers().route(one->paths.front().id)) continue;
    ask(*one);
    ++asked;
  }
}

// The path to a node has failed, so all its ranks are doubted until one of them answers. The
// others, which may compute, then need not answer. With RC the path was that of one rank, which may
// have ended alone. Ranks that nothing was sent to are then asked too, unless that would take
// others' links.
void NetworkLink::doubt_node_of(int rank, const std::string& why) {
  for (const int other : world_.ranks_of(node_of(rank))) {
    Remote& one = *remote(other);
    if (other == rank) one.doubted_with = rank;
    if (one.lost || one.doubted) continue;
    if (by_rank() && options_.max_links != 0 && !one.flow.connected()) continue;
    one.doubted = listened_;
    one.doubt = why;
    one.doubted_with = rank;
    unsettle(one);
  }
}

void NetworkLink::trust_node_of(int rank) {
  for (const int other : world_.ranks_of(node_of(rank)))
    if (const auto& one = remotes_[static_cast<std::size_t>(other)]) one->doubted.reset();
}

// A peer that does not answer is asked again as long as something is to be sent to it, after
// growing pauses. Perhaps it is gone, and what is to be sent is credit that is not needed.
void NetworkLink::not_connected(Remote& remote, connect::Failure why) {
  remote.leaves = why == connect::Failure::leaving;
  if (!remote.unanswered) remote.unanswered = now();
  const bool again =
      why == connect::Failure::unreachable && now() - *remote.unanswered < kLongestSilence;
  if (again) {
    std::erase(in_hand_, link_to(remote.rank));
    remote.ask_after = now() + std::min(now() - *remote.unanswered, kLongestPause);
    return;
  }
  Error error = connect::explain(why, ports_.front()->peers().address(remote.paths.front().id));
  const std::string& refused = ports_.front()->why_no_pair();
  if (why == connect::Failure::resources && !refused.empty()) error.why += cat(": ", refused);
  if (why == connect::Failure::mode)
    error.why += cat("; this one's is ", device_.capability.describe());
  const bool knows = why == connect::Failure::ended || why == connect::Failure::leaving;
  lose(remote, error.text(), knows ? Tells::no : Tells::yes);
}

void NetworkLink::lose(Remote& remote, std::string why, Tells tells) {
  if (remote.lost) return;
  remote.lost = true;
  std::erase(in_hand_, link_to(remote.rank));
  lost_.push_back({remote.rank, std::move(why), looks_.mark()});
  const PeerId id = remote.paths.front().id;
  if (tells == Tells::yes && id != connect::kNone) ports_.front()->give_up(id);
}

// The user has found out by itself that it cannot go on with the rank.
void NetworkLink::give_up(int rank) {
  Remote& one = *remote(rank);
  if (one.paths.front().id != connect::kNone) ports_.front()->give_up(one.paths.front().id);
}

// The adapter's engine has ended, the system has removed the device, or it does not do what it is
// told.
void NetworkLink::lose_device(const std::string& why) {
  if (dead_) return;
  dead_ = true;
  if (leaving_) return;  // nothing is waited for any more
  for (int rank = 0; rank < world_.size; ++rank) {
    if (node_of(rank) == world_.node()) continue;
    lose(*remote(rank),
         cat("this node's adapter is gone: ", device_.capability.device, " of ",
             device_.capability.library, " has ended, or was taken away (", why, ")"));
  }
}

// Called before any end is reported. Requests under way may not come back, and the device must not
// use memory that belongs to the program again.
void NetworkLink::abandon() {
  for (const auto& port : ports_)
    port->abandon();
  works_.each([this](Work& work) {
    if (!std::exchange(work.posted, false)) return;
    --sends_under_way_;
    --remotes_[static_cast<std::size_t>(work.rank)]->paths[work.port].under_way;
    end(work, Outcome::peer_ended);
  });
}

// Returns whether the messages that the rank sent before it was lost have been received.
bool NetworkLink::is_known_to_the_last(const Loss& loss) const {
  return looks_.has_passed(loss.known) && !is_receiving(loss.rank);
}

bool NetworkLink::is_receiving(int rank) const {
  const auto& known = remotes_[static_cast<std::size_t>(rank)];
  const PeerId id = known ? known->paths.front().id : connect::kNone;
  return !dead_ && id != connect::kNone && ports_.front()->is_receiving(id);
}

bool NetworkLink::is_connected(int rank) const {
  const auto& known = remotes_[static_cast<std::size_t>(rank)];
  if (!known) return false;
  // If links are limited, look_around() makes none to ask a rank that has none any more.
  const bool is_asked =
      options_.max_links == 0 || ports_.front()->peers().route(known->paths.front().id);
  return known->wanted || (known->flow.connected() && is_asked);
}

unsigned NetworkLink::tell_ends(NetworkUser& user) {
  unsigned count = 0;
  const auto tell_what_is_over = [&] {
    while (!over_.empty()) {
      const auto [operation, outcome] = over_.back();
      over_.pop_back();
      ++count;
      user.moved(*operation, outcome);
    }
  };
  if (!dead_) tell_what_is_over();
  // The user may add to lost_.
  for (std::size_t i = 0; i < lost_.size();) {
    if (!is_known_to_the_last(lost_[i])) {
      ++i;
      continue;
    }
    const Loss loss = std::move(lost_[i]);
    lost_.erase(lost_.begin() + static_cast<std::ptrdiff_t>(i));
    ++count;
    user.lost(loss.rank, loss.why);
  }
  // Now the user knows why the operations fail.
  if (dead_ && lost_.empty()) tell_what_is_over();
  return count;
}

void NetworkLink::ended(int rank) {
  auto& known = remotes_[static_cast<std::size_t>(rank)];
  if (!known) return;
  Remote& gone = *known;
  // Another part has found this end: that rank's end broke its path, and its node is not in doubt.
  for (const auto& other : remotes_)
    if (!gone.lost && other && other->doubted_with == rank) other->doubted.reset();
  gone.lost = true;
  for (Work* const work : gone.again)
    end(*work, Outcome::peer_ended);
  gone.again.clear();
  end_refused(gone, gone.refused.size(), Outcome::peer_ended);
  gone.notes.clear();
  if (gone.flow.connected()) flow_.disconnect(gone.flow);
  // A peer that leaves still waits for answers.
  if (gone.leaves || dead_) return;
  for (std::size_t port = 0; port < ports_.size(); ++port)
    if (gone.paths[port].id != connect::kNone)
      ports_[port]->tell(event::PeerEnded{gone.paths[port].id});
}

// ---- this process's end ----

// Credit for others is not waited for: a rank that ends receives no more.
bool NetworkLink::idle() const {
  return sends_under_way_ == 0 &&
         std::ranges::none_of(remotes_, [](const auto& one) { return one && !one->again.empty(); });
}

bool NetworkLink::leave() {
  if (dead_) return true;
  if (!leaving_) {
    leaving_ = true;
    for (const auto& port : ports_)
      port->tell(event::Leave{});
  }
  // The last datagrams must have left too, since they would be lost with the queue pair. A peer
  // that waits for them would then ask a node that has no rank any more.
  return std::ranges::all_of(ports_, [this](const auto& port) {
    return port->left() || (port != ports_.front() && !port->used());
  });
}

}  // namespace scela::channel
