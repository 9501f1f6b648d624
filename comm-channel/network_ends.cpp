// What was posted and came back, and who is not there any more. See docs/channel.md, Ends.
#include <algorithm>
#include <iterator>
#include <utility>

#include "comm-channel/network_link.h"
#include "comm-channel/operation.h"
#include "common/core/text.h"

namespace scela::channel {

namespace event = connect::event;
using connect::PeerId;

namespace {

// Between two questions whether those that nothing is heard of are there, and how many are asked.
constexpr connect::Time kBetweenQuestions = std::chrono::seconds(1);
constexpr std::size_t kMostQuestions = 32;
// Who computes does not answer requests. Of one that has ended the launcher tells, mostly.
constexpr connect::Time kLongestSilence = std::chrono::minutes(10);
constexpr connect::Time kLongestPause = std::chrono::seconds(10);

// Nothing has answered, or a message was not carried out that was not wrong: a process is just
// about to end there.
bool is_of_the_way(ibv_wc_status status, bool message) {
  return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RESP_TIMEOUT_ERR ||
         (message && status == IBV_WC_REM_OP_ERR);
}

// Not this process's own adapter, which knows what is wrong here.
bool is_of_the_other_side(ibv_wc_status status) {
  return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR ||
         status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ABORT_ERR;
}

}  // namespace

// ---- what came back ----

void NetworkLink::free_work(Work& work) {
  if (work.move == nullptr && work.bytes != nullptr) sends_->give_back(work.bytes);
  works_.give_back(work);
}

// A part of a move is. The operation, if that was the last part.
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

// The first of them says what is wrong; those behind it were not carried out. What may or may not
// have arrived goes again by another queue pair, and its receiver knows it by its number; bytes
// that are written or read twice are the same.
void NetworkLink::came_back(Work& work, const ibv_wc& wc, NetworkUser& user) {
  Remote& to = *remotes_[static_cast<std::size_t>(work.rank)];
  const char* const what = device_.symbols->ibv_wc_status_str(wc.status);
  if (wc.status == IBV_WC_RNR_RETRY_EXC_ERR) ++rnr_events_;
  break_pair(work);
  const bool message = work.move == nullptr;
  const bool way = is_of_the_way(wc.status, message);
  if (way && !to.lost) doubt_node_of(work.rank, what);
  if (way) to.roads[work.port].not_before = now() + kPauseOfPort;
  const bool refused = !way && wc.status != IBV_WC_WR_FLUSH_ERR &&
                       wc.status != IBV_WC_RNR_RETRY_EXC_ERR;  // there was no buffer just then
  if (!message && refused && !to.lost && is_of_the_other_side(wc.status)) return hold(to, work);
  if (!message && (refused || to.lost)) {
    Move& move = *work.move;
    const bool ended = to.lost;
    free_work(work);
    return tell_moved(move, ended ? Outcome::peer_ended : Outcome::device, user);
  }
  // Where it receives is gone: it has ended.
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

// Between two looks others may have said what this process has not heard, as it computed, was
// stopped, or waited for a processor: nobody is given up before it has looked so many times.
void NetworkLink::settle() {
  if (unsettled_.empty()) return;
  constexpr int kLooks = 10;
  const connect::Time time = now();
  const connect::Time most = std::chrono::seconds(options_.unreachable_after);
  listened_ += std::min(time - settled_at_, most / kLooks);
  settled_at_ = time;
  std::erase_if(unsettled_, [this](Remote* remote) { return settle(*remote); });
}

// True: nothing is left to go again or to be told, and it is known to be there, or lost.
bool NetworkLink::settle(Remote& remote) {
  const connect::Time most = std::chrono::seconds(options_.unreachable_after);
  if (!remote.lost && remote.doubted && listened_ - *remote.doubted > most)
    lose(remote, cat("the adapter cannot reach it: ", remote.doubt,
                     ", and it has not answered for ", options_.unreachable_after, " s"));
  // With RC nobody else's answer is his.
  const bool spoken_to =
      remote.flow.connected() || !remote.again.empty() || (by_rank() && remote.doubted.has_value());
  const bool going =
      !remote.lost && spoken_to && way_to(remote).pair != nullptr && send_again(remote);
  if (going && remote.doubted && remote.roads.front().under_way == 0) ask(remote);
  const bool told = remote.lost || settle_refused(remote, going);
  if (!remote.lost && (!told || remote.doubted || !remote.again.empty())) return false;
  remote.unsettled = false;
  return true;
}

// ---- what was refused ----

// The buffer is not there; or nothing is, as of a process that is about to end: its memory goes
// before anybody knows that it has. So nobody is told before it is known which of the two it is.
void NetworkLink::hold(Remote& to, Work& work) {
  unsettle(to);
  if (to.refused.empty()) to.refused_at = listened_;
  to.refused.push_back(&work);
}

// What comes into its memory now shows that it has some. By RC the connection that this takes is
// made anew, and by its program.
void NetworkLink::question(Remote& remote) {
  const Way way = way_to(remote);
  std::byte* const buffer = way.pair != nullptr ? sends_->take() : nullptr;
  if (buffer == nullptr) return;
  const Room room = flow_.room_for_answer(remote.flow);
  if (room == Room::none) return sends_->give_back(buffer);
  remote.question = buffer;
  remote.questioned = remote.refused.size();
  Header header;
  header.kind = Kind::credit;
  header.source = world_.rank;
  const Credit nothing;
  send_in(remote.rank, way, room, header, bytes_of(nothing), buffer);
}

// It is there: so it was the buffer.
void NetworkLink::answered(Remote& remote) {
  remote.question = nullptr;
  remote.refused_at = listened_;
  if (!remote.lost) end_refused(remote, std::exchange(remote.questioned, 0), Outcome::device);
}

// Whether all of them were told.
bool NetworkLink::settle_refused(Remote& remote, bool going) {
  if (remote.refused.empty()) return true;
  if (going && remote.question == nullptr) question(remote);
  // It computes, or has ended and nobody tells. Of who is doubted it is known soon.
  const connect::Time most = std::chrono::seconds(options_.unreachable_after);
  if (remote.doubted || listened_ - remote.refused_at <= most) return false;
  remote.questioned = 0;
  end_refused(remote, remote.refused.size(), Outcome::device);
  return true;
}

// The first of them.
void NetworkLink::end_refused(Remote& remote, std::size_t count, Outcome outcome) {
  for (; count != 0; --count) {
    Work& work = *remote.refused.front();
    remote.refused.pop_front();
    end(work, outcome);
  }
}

// ---- who is there ----

// A write of nothing: no buffer is used for it, and the other's program need not look. It names the
// queue where the rank receives, so that it is refused where that rank has ended.
void NetworkLink::ask(Remote& remote) {
  const Way way = way_to(remote);
  if (way.pair == nullptr) return;
  Work& work = works_.take();
  work.rank = remote.rank;
  work.move = nullptr;
  work.bytes = nullptr;
  work.length = 0;
  work.left = 0;
  work.opcode = IBV_WR_RDMA_WRITE;
  work.remote_address = 0;
  work.key = 0;
  if (!post(0, way, work)) works_.give_back(work);
}

// It was asked for a connection, and has not answered for some time.
bool NetworkLink::is_awaited(const Remote& remote) const {
  return remote.wanted && now() - *remote.wanted >= kBetweenQuestions &&
         !ports_.front()->peers().route(remote.roads.front().id);
}

void NetworkLink::look_around() {
  const connect::Time time = now();
  if (dead_ || leaving_ || time - looked_around_ < kBetweenQuestions) return;
  looked_around_ = time;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < remotes_.size() && asked < kMostQuestions; ++i) {
    asked_last_ = (asked_last_ + 1) % remotes_.size();
    Remote* const one = remotes_[asked_last_].get();
    if (one == nullptr || one->lost || one->roads.front().under_way != 0 || !one->flow.connected())
      continue;
    if (is_awaited(*one)) {
      // It may have ended well before there was a connection: then nothing is left to answer.
      if (has_left_ && has_left_(one->rank)) lose(*one, {}, Tells::no);
      ++asked;
      continue;
    }
    // No link makes room for a question.
    if (options_.most_links != 0 && !ports_.front()->peers().route(one->roads.front().id)) continue;
    ask(*one);
    ++asked;
  }
}

// The way to a node has failed: nobody there is known to be, until one of them answers. Those who
// compute then need not. With RC the way was one rank's only, which may have ended alone: those
// that nothing was said to are asked too, but where that would take others' links.
void NetworkLink::doubt_node_of(int rank, const std::string& why) {
  for (const int other : world_.ranks_of(node_of(rank))) {
    Remote& one = *remote(other);
    if (other == rank) one.doubted_with = rank;
    if (one.lost || one.doubted) continue;
    if (by_rank() && options_.most_links != 0 && !one.flow.connected()) continue;
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

// Who does not answer is asked again as long as something is to go there, after ever longer pauses:
// perhaps nobody is there to take it, and it is credit that nobody needs.
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
  Error error = connect::explain(why, ports_.front()->peers().card(remote.roads.front().id));
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
  const PeerId id = remote.roads.front().id;
  if (tells == Tells::yes && id != connect::kNone) ports_.front()->give_up(id);
}

// For who has found out by itself that it cannot go on with a rank.
void NetworkLink::give_up(int rank) {
  Remote& one = *remote(rank);
  if (one.roads.front().id != connect::kNone) ports_.front()->give_up(one.roads.front().id);
}

// Its engine has ended, or the system has taken it away, or it does not do what it is told.
void NetworkLink::lose_device(const std::string& why) {
  if (dead_) return;
  dead_ = true;
  if (leaving_) return;  // nobody waits for anything
  for (int rank = 0; rank < world_.size; ++rank) {
    if (node_of(rank) == world_.node()) continue;
    lose(*remote(rank),
         cat("this node's adapter is gone: ", device_.capability.device, " of ",
             device_.capability.library, " has ended, or was taken away (", why, ")"));
  }
}

// Before anybody is told: what is under way may not come back, and nothing is to touch memory that
// belongs to the program again.
void NetworkLink::abandon() {
  for (const auto& port : ports_)
    port->abandon();
  works_.each([this](Work& work) {
    if (!std::exchange(work.posted, false)) return;
    --sends_under_way_;
    --remotes_[static_cast<std::size_t>(work.rank)]->roads[work.port].under_way;
    end(work, Outcome::peer_ended);
  });
}

// What a rank sent before it was lost comes first.
bool NetworkLink::is_known_to_the_last(const Loss& loss) const {
  return looks_.has_passed(loss.known) && !is_receiving(loss.rank);
}

bool NetworkLink::is_receiving(int rank) const {
  const auto& known = remotes_[static_cast<std::size_t>(rank)];
  const PeerId id = known ? known->roads.front().id : connect::kNone;
  return !dead_ && id != connect::kNone && ports_.front()->is_receiving(id);
}

bool NetworkLink::is_connected(int rank) const {
  const auto& known = remotes_[static_cast<std::size_t>(rank)];
  if (!known) return false;
  // Where links are limited, none is made to ask one whose link was closed (look_around()).
  const bool is_asked =
      options_.most_links == 0 || ports_.front()->peers().route(known->roads.front().id);
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
  // The user may add to them.
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
  // Why it is, is known by then.
  if (dead_ && lost_.empty()) tell_what_is_over();
  return count;
}

void NetworkLink::ended(int rank) {
  auto& known = remotes_[static_cast<std::size_t>(rank)];
  if (!known) return;
  Remote& gone = *known;
  // So somebody else says: it was that rank's end that broke its way, and nothing of its node.
  for (const auto& other : remotes_)
    if (!gone.lost && other && other->doubted_with == rank) other->doubted.reset();
  gone.lost = true;
  for (Work* const work : gone.again)
    end(*work, Outcome::peer_ended);
  gone.again.clear();
  end_refused(gone, gone.refused.size(), Outcome::peer_ended);
  gone.notes.clear();
  if (gone.flow.connected()) flow_.disconnect(gone.flow);
  // Who leaves waits for answers yet.
  if (gone.leaves || dead_) return;
  for (std::size_t port = 0; port < ports_.size(); ++port)
    if (gone.roads[port].id != connect::kNone)
      ports_[port]->tell(event::PeerEnded{gone.roads[port].id});
}

// ---- this process's own ----

// Credit for others is nothing that they wait for: who ends receives no more.
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
  // Its last words, too, have gone: they would go with the queue pair, and who waits for them would
  // ask a node where nobody is.
  return std::ranges::all_of(ports_, [this](const auto& port) {
    return port->left() || (port != ports_.front() && !port->used());
  });
}

}  // namespace scela::channel
