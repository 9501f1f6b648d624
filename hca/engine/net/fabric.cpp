#include "hca/engine/net/fabric.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::hca {

namespace {

// A payload from this size on is written at once from where it stands, not kept for the end of the
// turn.
constexpr std::size_t kDirect = 16u << 10;
// The bytes read from one connection at a time, so that one that sends without end does not keep
// others waiting.
constexpr std::size_t kReadAtOnce = 256u << 10;
constexpr int kLastReads = 64;

}  // namespace

Result<std::unique_ptr<Fabric>> Fabric::listen(const FabricRecord& record, Directory directory) {
  auto listener = Listener::open(record.listen);
  if (!listener) return fail(listener.error());
  return std::unique_ptr<Fabric>(new Fabric(record, std::move(directory), std::move(*listener)));
}

Fabric::Fabric(const FabricRecord& record, Directory directory, Listener listener)
    : own_(record, listener.port()),
      listener_(std::move(listener)),
      dialer_(std::move(directory), own_, links_, timers_) {
  for (const auto& [node, endpoint] : own_.announced())
    if (node != own_.number()) peers_[node].addresses.fix(endpoint);
}

bool Fabric::encrypt() {
  if (own_.encrypts()) return true;
  if (connected()) return false;
  // A stranger has not proved itself and was not told of the wish; it connects again.
  while (const auto stranger = strangers_.oldest())
    drop(stranger->id);
  own_.encrypt();
  return true;
}

bool Fabric::join(TaggedPoller& poller, Engine& engine) {
  poller_ = &poller;
  engine_ = &engine;
  links_.watch_by(poller);
  return listener_.watch(poller) && dialer_.begin(poller);
}

std::optional<std::uint32_t> Fabric::node_of(const Gid& gid, bool is_global, std::uint16_t lid) {
  const auto target = own_.target_of(gid, is_global, lid);
  if (!target) return std::nullopt;
  const std::uint32_t node = target->node;
  if (target->endpoint) peers_[node].addresses.say(*target->endpoint);
  if (dialer_.can_ask()) peers_[node];  // it may be found
  const auto peer = peers_.find(node);
  if (peer == peers_.end() ||
      (peer->second.addresses.empty() && peer->second.established == 0 && !dialer_.can_ask())) {
    return std::nullopt;
  }
  return node + 1;
}

std::vector<std::uint32_t> Fabric::known_nodes() const {
  std::vector<std::uint32_t> known;
  for (const auto& [node, peer] : peers_)
    if (peer.established != 0 || own_.announced().contains(node)) known.push_back(node + 1);
  return known;
}

OtherNode* Fabric::peer_of(std::uint32_t node) {
  const auto found = peers_.find(node - 1);
  return found == peers_.end() ? nullptr : &found->second;
}

bool Fabric::ready(std::uint32_t node) {
  OtherNode* const peer = peer_of(node);
  if (peer == nullptr || peer->outbox.size() < kFull) return true;
  peer->full = true;
  return false;
}

bool Fabric::send(std::uint32_t node, std::span<const std::byte> header,
                  std::span<const std::byte> payload, Moment now) {
  OtherNode* const peer = peer_of(node);
  if (peer == nullptr) return false;
  // Frames wait for a connection that is being made, or that the other is about to make.
  const bool waits = peer->trying != 0 || !peer->outbox.empty();
  if (peer->established == 0 && !waits && !dialer_.connect(node - 1, *peer, now)) return false;
  const FrameHead head(header, payload.size());
  ++counts_.frames_out;
  counts_.bytes_out += head.bytes().size() + payload.size();
  if (peer->established != 0 && payload.size() >= kDirect) {
    PeerLink& link = links_.at(peer->established);
    if (!link.waits_to_write()) {
      if (!link.send(peer->outbox, head.bytes(), payload)) broken_.push_back(peer->established);
      links_.watch(peer->established, link, peer->outbox);
      return true;
    }
  }
  peer->outbox.add(head.bytes());
  peer->outbox.add(payload);
  if (peer->outbox.size() > kTooMuch && peer->established != 0)
    broken_.push_back(peer->established);
  if (!peer->dirty) dirty_.push_back(node - 1);
  peer->dirty = true;
  return true;
}

void Fabric::flush(OtherNode& peer) {
  if (peer.established == 0) return;
  PeerLink& link = links_.at(peer.established);
  if (!link.send(peer.outbox, {}, {})) {
    broken_.push_back(peer.established);
    return;
  }
  links_.watch(peer.established, link, peer.outbox);
  if (!peer.full || peer.outbox.size() > kFull / 2) return;
  peer.full = false;
  engine_->writable(link.node() + 1);
  woke_ = true;
}

void Fabric::read(std::uint32_t id, PeerLink& link, Moment now) {
  constexpr std::size_t kRoom = kReadAtOnce + kLengthBytes + kLongestFrame;
  const std::size_t room = link.encrypts() ? 2 * kRoom : kRoom;
  room_.resize(std::max(room_.size(), room));
  std::span<const std::byte> bytes;
  if (!link.read(std::span(room_).first(room), bytes)) {
    const int error = link.failure();
    if (error == EBADMSG) ++counts_.changed;
    return end(id,
               error == 0         ? ""
               : error == EBADMSG ? "what came from it was changed on its way, or is not its own"
               : error == ECONNABORTED
                   ? "its engine was killed, or what came from it was cut off on its way"
                   : errno_text(error),
               now);
  }
  if (bytes.empty()) return;
  const bool good = cut_frames(bytes, [&](std::span<const std::byte> frame) {
    ++counts_.frames_in;
    counts_.bytes_in += kLengthBytes + frame.size();
    return engine_->receive(link.node() + 1, frame, now);
  });
  if (!good) return end(id, "it sent what is no frame", now);
  link.keep(bytes);
  // No further event may come that would report the end.
  if (link.has_ended()) read(id, link, now);
}

void Fabric::end(std::uint32_t id, const std::string& why, Moment now) {
  const PeerLink* const link = links_.find(id);
  if (link == nullptr) return;
  const std::uint32_t node = link->node();
  if (!why.empty())
    nodes_report_.say(cat("the connection to node ", node, " has ended: ", why), now);
  drop(id);
  OtherNode& peer = peers_[node];
  peer.established = 0;
  peer.has_left = why.empty();
  drop_node(node, peer, now);
}

void Fabric::drop_node(std::uint32_t node, OtherNode& peer, Moment now) {
  ++counts_.lost;
  // If the node's engine is replaced, its successor listens at another address.
  const bool was_asked = std::exchange(peer.was_asked, false);
  if (was_asked && !own_.announced().contains(node)) peer.addresses.forget();
  peer.outbox.clear();
  peer.full = false;
  engine_->lost(node + 1, now);
  woke_ = true;
}

bool Fabric::send_waiting(Moment now) {
  while (!dirty_.empty()) {
    for (const std::uint32_t node : std::exchange(dirty_, {})) {
      OtherNode& peer = peers_[node];
      peer.dirty = false;
      if (peer.established != 0 && !links_.at(peer.established).waits_to_write()) flush(peer);
    }
  }
  for (const std::uint32_t id : std::exchange(broken_, {})) {
    PeerLink* const link = links_.find(id);
    if (link == nullptr) continue;
    const int error = link->failure();
    // Frames that the other end has sent before it went must still be taken.
    for (int i = 0; i < kLastReads && error != 0 && links_.find(id) != nullptr; ++i)
      read(id, *link, now);
    end(id, error == 0 ? "it asks without listening" : errno_text(error), now);
  }
  while (const auto timer = timers_.take_due(now))
    run_timer(*timer, now);
  return std::exchange(woke_, false);
}

void Fabric::finish() {
  listener_.close();
  links_.finish([this](std::uint32_t node) -> Outbox& { return peers_[node].outbox; });
}

std::vector<std::pair<std::string, std::string>> Fabric::status() const {
  std::size_t established = 0, encrypted = 0, waiting = 0;
  for (const auto& [node, peer] : peers_) {
    established += peer.established != 0 ? 1 : 0;
    encrypted += peer.established != 0 && links_.at(peer.established).encrypts() ? 1 : 0;
    waiting += peer.outbox.size();
  }
  std::string gid;
  const Settings mine = own_.settings();
  for (std::size_t i = 0; i < 16; ++i) {
    gid += hex_digits(&mine.gid.bytes[i], 1);
    if (i % 2 == 1 && i < 15) gid += ':';
  }
  return {{"job", own_.job()},
          {"node", cat(own_.number())},
          {"nodes", own_.nodes() == kMaxNodes ? "not known" : cat(own_.nodes())},
          {"gid", gid},
          {"lid", cat(mine.first_lid)},
          {"listens", own_.reached().text()},
          {"asks for encryption", own_.encrypts() ? "yes" : "no"},
          {"nodes connected", cat(established)},
          {"of these encrypted", cat(encrypted)},
          {"connections not proved", cat(links_.size() - established)},
          {"connections refused", cat(counts_.refused)},
          {"nodes lost", cat(counts_.lost)},
          {"connections changed on their way", cat(counts_.changed)},
          {"frames sent", cat(counts_.frames_out)},
          {"frames received", cat(counts_.frames_in)},
          {"frame bytes sent", cat(counts_.bytes_out)},
          {"frame bytes received", cat(counts_.bytes_in)},
          {"frame bytes waiting", cat(waiting)}};
}

}  // namespace scela::hca
