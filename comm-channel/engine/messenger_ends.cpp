// The ends of other ranks, and that of this process. Operations that wait for a rank that has ended
// fail. Before this process ends, it sends what other ranks wait for.
#include <algorithm>
#include <utility>

#include "comm-channel/engine/messenger.h"
#include "common/core/text.h"

namespace scela::channel {

// ---- ends of other ranks ----

ChannelError Messenger::peer_ended(int rank) {
  const Peer& gone = peer(rank);
  const std::string& why = gone.why;
  // A rank that cannot be reached for long has ended, as far as this process can tell.
  const bool is_own_fault = gone.local < 0 && network_ && !network_->works();
  return error_of(is_own_fault ? Code::device : Code::peer_ended, rank,
                  why.empty() ? cat("rank ", rank, " has ended") : cat("rank ", rank, ": ", why));
}

void Messenger::lost(int rank, const std::string& why) {
  if (!has_ended(rank)) ended(rank, why);
}

void Messenger::notice_ends() {
  if (!node_) return;
  for (std::size_t local = 0; local < ranks_here_.size(); ++local) {
    if (!node_->dead(static_cast<std::uint32_t>(local)) || has_ended(ranks_here_[local])) continue;
    // Messages that it sent before come first.
    while (poll() != 0) {
    }
    ended(ranks_here_[local]);
  }
}

// Messages that the rank sent before come first.
void Messenger::ended_elsewhere(int rank) {
  while (poll() != 0) {
  }
  const bool comes_yet = network_ && network_->is_receiving(rank);
  if (!has_ended(rank) && !comes_yet) ended(rank);
}

std::vector<int> Messenger::awaited_unconnected() {
  constexpr std::size_t kMaxAsked = 32;
  std::vector<bool> awaited(peers_.size(), false);
  const auto add = [&](int rank) {
    if (rank >= 0) awaited[static_cast<std::size_t>(rank)] = true;
  };
  add(probed_);
  for (const Posted* one = matcher_.first_receive(); one != nullptr; one = Matcher::after(*one))
    add(one->pattern.source);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < peers_.size() && ranks.size() < kMaxAsked; ++i) {
    asked_last_ = (asked_last_ + 1) % peers_.size();
    const Peer& one = peers_[asked_last_];
    const int rank = static_cast<int>(asked_last_);
    if (awaited[asked_last_] && one.local < 0 && !one.ended && rank != world_.rank &&
        !network_->is_connected(rank))
      ranks.push_back(rank);
  }
  return ranks;
}

void Messenger::ended(int rank, std::string why) {
  Peer& gone = peer(rank);
  gone.ended = true;
  gone.why = std::move(why);
  if (gone.local < 0 && network_) network_->ended(rank);
  const std::deque<Outgoing> unsent = std::exchange(gone.outgoing, {});
  const std::deque<Outgoing> unmoved = std::exchange(gone.answers, {});
  if (gone.waits) {
    gone.waits = false;
    std::erase(busy_, rank);
  }
  end_stream(rank);
  for (const Outgoing& outgoing : unsent)
    if (outgoing.operation != nullptr && outgoing.operation->number == 0)
      complete(*outgoing.operation, peer_ended(rank));
  const std::vector<Operation*> under_way = request_table_.all();
  for (Operation* const operation : under_way)
    if (operation->peer == rank) {
      operation->memory.keep_not();  // it may live, and use what was offered
      end_transfer(*operation);
    }
  // Moves that have not begun do not come back: nothing uses their buffers.
  for (const Outgoing& outgoing : unmoved)
    if (outgoing.act == Act::write || outgoing.act == Act::read)
      moved(*outgoing.operation, Outcome::peer_ended);
  ended_.push_back(rank);
  if (offloader_) offloader_->ended(rank);
  fail_receives_of(rank);
}

void Messenger::fail_receives_of(int rank) {
  fail_receives(matcher_.take_receives_of(rank), peer_ended(rank));
}

void Messenger::fail_receives(Posted* first, const ChannelError& error) {
  for (Posted* receive = first; receive != nullptr;) {
    Posted* const next = Matcher::following(*receive);
    complete(static_cast<Operation&>(*receive), error);
    receive = next;
  }
}

void Messenger::notice_solitude() {
  if (nobody_left()) fail_receives(matcher_.take_receives_of(kAny), error_of_solitude());
}

ChannelError Messenger::error_of_solitude() {
  return error_of(Code::peer_ended, -1, "receive from any rank: all others have ended");
}

// ---- this process's end ----

namespace {

bool is_of_channels(Kind kind) {
  return kind == Kind::open || kind == Kind::opened || kind == Kind::begin ||
         kind == Kind::recall || kind == Kind::left || kind == Kind::closed;
}

}  // namespace

// Other ranks need to know what has gone by channels, and nothing else about channels.
void Messenger::finish() {
  if (!offloader_) return;
  offloader_->leave();
  for (Peer& to : peers_)
    for (std::deque<Outgoing>* const queue : {&to.outgoing, &to.answers})
      std::erase_if(*queue, [](const Outgoing& one) {
        const Kind kind = one.header.kind;
        return is_of_channels(kind) && kind != Kind::begin && kind != Kind::left;
      });
}

bool Messenger::owes() const {
  const auto owed = [](const Outgoing& one) { return !is_of_channels(one.header.kind); };
  return std::ranges::any_of(busy_, [&](int rank) {
    const Peer& to = peers_[static_cast<std::size_t>(rank)];
    return std::ranges::any_of(to.outgoing, owed) || std::ranges::any_of(to.answers, owed);
  });
}

ChannelError Messenger::not_received(int rank) const {
  return error_of(Code::closed, rank,
                  cat("send to rank ", rank,
                      ": it has closed its channel, and did not receive the message: have it "
                      "receive all messages before it closes its channel"));
}

// If messages wait at both ends, each rank closes only when the other says that nothing will
// receive them.
void Messenger::refuse_messages() {
  if (offloader_) offloader_->refuse_messages();
  while (const Unexpected* const message = matcher_.first_message()) {
    const Envelope& envelope = message->envelope;
    Unexpected* const taken = take({envelope.context, envelope.source, envelope.tag});
    if (taken == nullptr) break;
    drop(*taken, Outcome::closed);
  }
}

bool Messenger::end_requests() {
  refuse_messages();
  bool over = true;
  operations_.each([&](Operation& one) {
    if (one.progress == nullptr || one.phase != Phase::waiting) return;
    if (cancel(one)) one.status.error = error_of_closing();
    over = over && one.phase != Phase::waiting;
  });
  return over;
}

std::size_t Messenger::close() {
  closed_ = true;
  for (Peer& one : peers_)
    one.local = -1;  // nothing more is sent at once
  offloader_.reset();
  network_.reset();
  node_.reset();
  std::size_t requests = 0;
  operations_.each([&](const Operation& one) { requests += one.progress != nullptr; });
  return requests;
}

ChannelError Messenger::error_of_closing() {
  return error_of(
      Code::closed, -1,
      "the channel was closed before the request was complete: wait for requests first");
}

}  // namespace scela::channel
