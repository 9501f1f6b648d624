#include "comm-channel/core/protocol/flow.h"

#include <algorithm>
#include <limits>

namespace scela::channel {

Flow::Flow(const Limits& limits) : limits_(limits), pool_(limits.pool), free_(limits.pool) {
  limits_.most = std::max({limits_.most, limits_.first, std::uint32_t{1}});
}

std::uint32_t Flow::connect(Peer& peer) {
  peer = Peer{};
  peer.connected_ = true;
  peer.credits_ = peer.held_ = limits_.first;
  peer.target_ = std::max(limits_.first, std::uint32_t{1});
  peers_.push_back(&peer);
  pool_ += limits_.first;
  const std::uint32_t needed = limits_.first + kReserved;
  const std::uint32_t there = std::min(spare_, needed);
  spare_ -= there;
  return needed - there;
}

void Flow::disconnect(Peer& peer) {
  if (!peer.connected_) return;
  for (auto* queue : {&hungry_, &listed_, &woken_})
    std::erase(*queue, &peer);
  std::erase(peers_, &peer);
  if (peer.asked_ || peer.to_ask_) --asks_;
  const std::uint32_t arrived = peer.arrived_;
  free_ += peer.held_ - arrived;
  debt_ += limits_.first;
  spare_ += kReserved;
  peer = Peer{};
  peer.arrived_ = arrived;
  settle();
  serve();
}

// The buffers that a peer added to the pool when it connected leave the pool when they are free
// after it has gone.
void Flow::settle() {
  const std::uint32_t paid = std::min(free_, debt_);
  free_ -= paid;
  debt_ -= paid;
  pool_ -= paid;
  spare_ += paid;
}

std::uint32_t Flow::granted() const {
  std::uint32_t all = 0;
  for (const Peer* peer : peers_)
    all += peer->held_;
  return all;
}

bool Flow::take_credit(Peer& peer) {
  if (peer.credits_ > 0) {
    --peer.credits_;
    return true;
  }
  if (!peer.blocked_) {
    peer.blocked_ = true;
    ++waits_;
    list(peer);
  }
  return false;
}

Room Flow::room_for_answer(Peer& peer) {
  // Messages that wait for credit go first: answers have room of their own.
  if (peer.credits_ > 0 && !peer.blocked_ && !peer.woken_) {
    --peer.credits_;
    return Room::credit;
  }
  // Messages about credit go first in the reserved room. There is only one of them, so answers are
  // not kept back for long.
  if (peer.unacknowledged_ || peer.to_ask_ || peer.to_return_) return Room::none;
  peer.unacknowledged_ = true;
  return Room::reserved;
}

void Flow::stamp(Peer& peer, Room room, Header& header) {
  header.flags = static_cast<std::uint8_t>(header.flags & flag::kSynchronous);
  header.flags |= static_cast<std::uint8_t>(static_cast<unsigned>(room) << flag::kRoomShift);
  if (offers_only_) header.flags |= flag::kOffersOnly;
  peer.knows_offers_only_ = offers_only_;
  if (peer.blocked_ && peer.credits_ == 0) {
    header.flags |= flag::kWants;
    peer.told_ = true;
  }
  header.acks = peer.owed_ ? 1 : 0;
  peer.owed_ = false;
  const std::uint32_t most = std::numeric_limits<std::uint8_t>::max();
  header.credits = static_cast<std::uint8_t>(std::min(peer.due_, most));
  peer.due_ -= header.credits;
  if (peer.due_ == 0) peer.urgent_ = false;
}

void Flow::arrived(Peer& peer, const Header& header, const Credit* body) {
  const Room room = room_of(header);
  if (room == Room::credit) ++peer.arrived_;
  if (room == Room::reserved) {
    peer.owed_ = true;
    list(peer);
  }
  if (header.acks != 0) {
    peer.unacknowledged_ = false;
    list(peer);
  }
  peer.offers_only_ = (header.flags & flag::kOffersOnly) != 0;
  const std::uint32_t granted = header.credits + (body != nullptr ? body->granted : 0);
  peer.credits_ += granted;
  if (granted > 0) {
    peer.told_ = false;
    if (peer.blocked_ && !peer.woken_) {
      peer.woken_ = true;
      woken_.push_back(&peer);
    }
    peer.blocked_ = false;
  }
  if (body != nullptr) {
    if ((body->says & kAsks) != 0) {
      peer.to_return_ = true;
      list(peer);
    }
    if ((body->says & kAnswers) != 0) take_back(peer, body->returned);
  }
  if ((header.flags & flag::kWants) != 0 && peer.due_ > 0) {
    peer.urgent_ = true;
    list(peer);
  } else if ((header.flags & flag::kWants) != 0 && !peer.hungry_) {
    peer.hungry_ = true;
    hungry_.push_back(&peer);
  }
  if (peer.due_ > 0) list(peer);  // it may be time to tell the credits
  serve();
}

void Flow::take_back(Peer& peer, std::uint32_t returned) {
  if (!peer.asked_) return;
  peer.asked_ = false;
  --asks_;
  returned = std::min(returned, peer.held_ - peer.arrived_ - peer.due_);
  peer.held_ -= returned;
  free_ += returned;
  settle();
}

void Flow::reposted(Peer& peer, Room room) {
  if (room != Room::credit) return;
  --peer.arrived_;
  ++free_;
  if (!peer.connected_) {
    settle();
    serve();
    return;
  }
  --peer.held_;
  settle();
  serve();
  // Free buffers that no other peer needs are granted ahead, so that a peer that keeps sending does
  // not run out of credit.
  if (!hungry_.empty() || peer.held_ > peer.target_ / 2) return;
  peer.target_ = std::min(peer.target_ * 2, limits_.most);
  grant(peer, std::min(peer.target_ - std::min(peer.held_, peer.target_), free_));
}

void Flow::grant(Peer& peer, std::uint32_t count) {
  if (count == 0) return;
  free_ -= count;
  peer.held_ += count;
  peer.due_ += count;
  peer.dry_ = false;
  list(peer);
}

// Serves the peers without credit in the order in which they asked. A peer that is alone gets as
// much as it may have.
void Flow::serve() {
  while (free_ > 0 && !hungry_.empty()) {
    Peer& peer = *hungry_.front();
    const auto others = static_cast<std::uint32_t>(hungry_.size());
    const std::uint32_t share = std::max(free_ / others, std::uint32_t{1});
    const std::uint32_t short_of = peer.target_ - std::min(peer.held_, peer.target_);
    grant(peer, std::min(share, std::max(short_of, std::uint32_t{1})));
    peer.urgent_ = true;
    peer.hungry_ = false;
    hungry_.pop_front();
  }
  if (!hungry_.empty()) ask_back();
}

// Asks for credits back from the peers with the most unused ones, as far as this side knows. It
// asks one peer for each peer that is without. Unused credits here include those that were granted
// and not yet told.
void Flow::ask_back() {
  while (asks_ < hungry_.size()) {
    Peer* richest = nullptr;
    for (Peer* peer : peers_) {
      if (peer->asked_ || peer->to_ask_ || peer->dry_ || peer->hungry_) continue;
      if (peer->held_ == peer->arrived_) continue;
      if (richest == nullptr || peer->held_ - peer->arrived_ > richest->held_ - richest->arrived_)
        richest = peer;
    }
    if (richest == nullptr) return;
    richest->target_ = std::max(richest->target_ / 2, std::uint32_t{1});
    richest->to_ask_ = true;
    ++asks_;
    list(*richest);
  }
}

void Flow::keep_eager(bool keep) {
  if (offers_only_ == !keep) return;
  offers_only_ = !keep;
  for (Peer* peer : peers_)
    if (peer->held_ > peer->arrived_) list(*peer);
}

void Flow::list(Peer& peer) {
  if (peer.listed_ || !peer.connected_) return;
  peer.listed_ = true;
  listed_.push_back(&peer);
}

std::optional<Flow::Note> Flow::next() {
  while (!listed_.empty()) {
    Peer& peer = *listed_.front();
    listed_.pop_front();
    peer.listed_ = false;
    if (auto note = note_for(peer)) return note;
  }
  return std::nullopt;
}

std::optional<Flow::Note> Flow::note_for(Peer& peer) {
  const bool wants = peer.blocked_ && !peer.told_ && peer.credits_ == 0;
  // Credits mostly ride along with messages. They are told on their own if the peer, as far as it
  // knows, has few.
  const std::uint32_t known = peer.held_ - peer.arrived_ - peer.due_;
  const bool due = peer.due_ > 0 && (peer.urgent_ || known <= peer.target_ / 4);
  const bool mode = peer.knows_offers_only_ != offers_only_ && peer.held_ > peer.arrived_;
  if (!peer.unacknowledged_ && (wants || due || mode || peer.to_ask_ || peer.to_return_)) {
    Note note{&peer, Room::reserved, {}};
    note.body.granted = peer.due_;
    peer.due_ = 0;
    peer.urgent_ = false;
    if (peer.to_ask_) {
      note.body.says |= kAsks;
      peer.to_ask_ = false;
      peer.asked_ = true;
      peer.dry_ = true;  // it then has none until granted more
    }
    if (peer.to_return_) {
      note.body.says |= kAnswers;
      note.body.returned = peer.credits_;
      peer.credits_ = 0;
      peer.to_return_ = false;
    }
    peer.unacknowledged_ = true;
    return note;
  }
  if (peer.owed_) return Note{&peer, Room::acknowledgement, {}};
  return std::nullopt;
}

Flow::Peer* Flow::woken() {
  if (woken_.empty()) return nullptr;
  Peer* peer = woken_.front();
  woken_.pop_front();
  peer->woken_ = false;
  return peer;
}

}  // namespace scela::channel
