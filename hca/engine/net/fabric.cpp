#include "hca/engine/net/fabric.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/syscall.h"
#include "hca/engine/io/report.h"

namespace scela::hca {

namespace {

// A payload from this size on is written at once from where it stands, not kept for the end of the
// turn.
constexpr std::size_t kDirect = 16u << 10;
// The bytes read from one connection at a time, so that one that sends without end does not keep
// others waiting.
constexpr std::size_t kReadAtOnce = 256u << 10;
constexpr int kBacklog = 1024;
constexpr int kLastReads = 64;
constexpr std::uint64_t kFinishNs = 1'000'000'000;

// Returns the part of GIDs that names the job, which is the same on all nodes. It does not reveal
// the key.
std::uint32_t tag_of(const FabricRecord& record) {
  const std::string_view key = record.is_nodes ? std::string_view() : record.key;
  const std::string digest = hmac_sha256(key, "scela-hca address " + record.job);
  std::uint32_t tag = 0;
  if (digest.size() >= sizeof tag) std::memcpy(&tag, digest.data(), sizeof tag);
  return tag;
}

}  // namespace

Result<Fabric> Fabric::listen(const FabricRecord& record, Directory directory) {
  const Endpoint at = record.listen;
  Fd made(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage address{};
  const socklen_t size = at.fill(address);
  const int on = 1;
  const auto listens = [&] {
    ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
           ::listen(made.get(), kBacklog) == 0;
  };
  if (!made || !listens()) {
    return fail(os_error(ErrorKind::io, cat("listen at ", at.text()), errno));
  }
  const auto bound = Endpoint::of_socket(made.get());
  if (!bound) return fail(os_error(ErrorKind::io, cat("listen at ", at.text()), errno));
  return Fabric(record, std::move(directory), std::move(made), bound->port);
}

Fabric::Fabric(const FabricRecord& record, Directory directory, Fd listening, std::uint16_t port)
    : record_(record),
      tag_(tag_of(record_)),
      directory_(std::move(directory)),
      listening_(std::move(listening)) {
  record_.listen.port = record_.reached.port = port;
  identity_ = {record_.job, "", record_.node, record_.nodes, 0, record_.encrypt};
  identity_.key =
      record_.is_nodes ? std::exchange(record_.key, {}) : engine_key_of(record_.key, record_.node);
  static_cast<void>(!::getrandom(&identity_.instance, sizeof identity_.instance, 0));
  for (const auto& [node, endpoint] : record_.directory)
    if (node != record_.node) peers_[node].addresses.fix(endpoint);
}

bool Fabric::is_of(const FabricRecord& record) const {
  return record.job == record_.job && record.node == record_.node &&
         record.nodes == record_.nodes && record.encrypt == record_.encrypt &&
         is_equal_secret(record.key, record_.key);
}

bool Fabric::encrypt() {
  if (identity_.encrypts) return true;
  if (connected()) return false;
  // A stranger has not proved itself and was not told of the wish; it connects again.
  while (!strangers_.empty())
    drop(*strangers_.begin());
  identity_.encrypts = true;
  return true;
}

Settings Fabric::settings() const {
  Settings settings;
  NodeAddress address;
  address.tag = tag_;
  address.node = record_.node;
  if (!record_.reached.is_ipv6 && !record_.reached.is_any()) {
    std::copy_n(record_.reached.address.begin(), 4, address.ipv4.begin());
    address.tcp_port = record_.reached.port;
  }
  settings.gid = gid_of(address);
  settings.first_lid = first_lid_of(record_.node);
  // The number is locally administered, and even: the second port has the next one.
  settings.guid = std::uint64_t{2} << 56 | std::uint64_t{tag_} << 20 | 2 * record_.node;
  return settings;
}

bool Fabric::join(Poller& poller, Engine& engine) {
  poller_ = &poller;
  engine_ = &engine;
  if (!poller.add(listening_.get(), EPOLLIN, {Tag::Kind::fabric, 0, 0})) return false;
  if (!directory_.is_there()) return true;
  if (!poller.add(directory_.descriptor(), EPOLLIN, {Tag::Kind::directory})) return false;
  directory_.tell_listening(record_.reached);
  return true;
}

std::optional<std::uint32_t> Fabric::node_of(const Gid& gid, bool is_global, std::uint16_t lid) {
  std::uint32_t node = 0;
  std::optional<Endpoint> said;
  if (is_global) {
    const auto address = address_of(gid);
    if (!address || address->tag != tag_) return std::nullopt;
    node = address->node;
    if (!address->by_number()) {
      said.emplace();
      std::ranges::copy(address->ipv4, said->address.begin());
      said->port = address->tcp_port;
    }
  } else if (const auto named = node_of_lid(lid)) {
    node = *named;
  } else {
    return std::nullopt;
  }
  if (node >= record_.nodes || node == record_.node) return std::nullopt;
  if (said) peers_[node].addresses.say(*said);
  if (directory_.is_there()) peers_[node];  // it may be found
  const auto peer = peers_.find(node);
  if (peer == peers_.end() ||
      (peer->second.addresses.empty() && peer->second.standing == 0 && !directory_.is_there())) {
    return std::nullopt;
  }
  return node + 1;
}

std::vector<std::uint32_t> Fabric::known_nodes() const {
  std::vector<std::uint32_t> known;
  for (const auto& [node, peer] : peers_)
    if (peer.standing != 0 || record_.directory.contains(node)) known.push_back(node + 1);
  return known;
}

OtherNode* Fabric::peer_of(std::uint32_t node) {
  const auto found = peers_.find(node - 1);
  return found == peers_.end() ? nullptr : &found->second;
}

bool Fabric::knows_key_to(const OtherNode& peer) const {
  return !record_.key.empty() || !peer.key.empty();
}

std::string Fabric::key_to(std::uint32_t node, const OtherNode& peer) const {
  if (record_.key.empty()) return peer.key;
  std::string theirs = engine_key_of(record_.key, node);
  std::string key = connection_key(theirs, record_.node);
  wipe(theirs);
  return key;
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
  if (peer->standing == 0 && !waits && !connect(node - 1, *peer, now)) return false;
  const FrameHead head(header, payload.size());
  ++counts_.frames_out;
  counts_.bytes_out += head.bytes().size() + payload.size();
  if (peer->standing != 0 && payload.size() >= kDirect) {
    PeerLink& link = links_.at(peer->standing);
    if (!link.waits_to_write()) {
      if (!link.send(peer->outbox, head.bytes(), payload)) broken_.push_back(peer->standing);
      watch(peer->standing, link, *peer);
      return true;
    }
  }
  peer->outbox.add(head.bytes());
  peer->outbox.add(payload);
  if (peer->outbox.size() > kTooMuch && peer->standing != 0) broken_.push_back(peer->standing);
  if (!peer->dirty) dirty_.push_back(node - 1);
  peer->dirty = true;
  return true;
}

void Fabric::watch(std::uint32_t id, PeerLink& link, const OtherNode& peer) {
  const bool waits = !link.has_sent_all(peer.outbox);
  if (waits == link.waits_to_write()) return;
  link.waits_to_write(waits);
  poller_->add(link.descriptor(), EPOLLIN | (waits ? EPOLLOUT : 0u), {Tag::Kind::fabric, id, 0});
}

void Fabric::flush(OtherNode& peer) {
  if (peer.standing == 0) return;
  PeerLink& link = links_.at(peer.standing);
  if (!link.send(peer.outbox, {}, {})) {
    broken_.push_back(peer.standing);
    return;
  }
  watch(peer.standing, link, peer);
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
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  const std::uint32_t node = found->second.node();
  if (!why.empty()) complain(cat("the connection to node ", node, " has ended: ", why), now);
  drop(id);
  OtherNode& peer = peers_[node];
  peer.standing = 0;
  peer.has_left = why.empty();
  lose(node, peer, now);
}

void Fabric::lose(std::uint32_t node, OtherNode& peer, Moment now) {
  ++counts_.lost;
  // If the node's engine is replaced, its successor listens at another address.
  const bool was_asked = std::exchange(peer.was_asked, false);
  if (was_asked && !record_.directory.contains(node)) peer.addresses.forget();
  peer.outbox.clear();
  peer.full = false;
  engine_->lost(node + 1, now);
  woke_ = true;
}

bool Fabric::attend(Moment now) {
  while (!dirty_.empty()) {
    for (const std::uint32_t node : std::exchange(dirty_, {})) {
      OtherNode& peer = peers_[node];
      peer.dirty = false;
      if (peer.standing != 0 && !links_.at(peer.standing).waits_to_write()) flush(peer);
    }
  }
  for (const std::uint32_t id : std::exchange(broken_, {})) {
    const auto found = links_.find(id);
    if (found == links_.end()) continue;
    const int error = found->second.failure();
    // Frames that the other end has sent before it went must still be taken.
    for (int i = 0; i < kLastReads && error != 0 && links_.contains(id); ++i)
      read(id, found->second, now);
    end(id, error == 0 ? "it asks without listening" : errno_text(error), now);
  }
  while (!timers_.empty() && std::get<0>(*timers_.begin()) <= now) {
    const auto [moment, timer, id] = *timers_.begin();
    timers_.erase(timers_.begin());
    run_timer(timer, id, now);
  }
  return std::exchange(woke_, false);
}

std::optional<Moment> Fabric::deadline() const {
  if (timers_.empty()) return std::nullopt;
  return std::get<0>(*timers_.begin());
}

void Fabric::finish() {
  const Moment until = monotonic_ns() + kFinishNs;
  listening_.reset();
  while (monotonic_ns() < until) {
    std::vector<pollfd> waits;
    std::vector<std::uint32_t> ids;
    std::erase_if(links_, [](const auto& link) { return !link.second.stands(); });
    for (auto& [id, link] : links_) {
      Outbox& outbox = peers_[link.node()].outbox;
      if (!link.send(outbox, {}, {})) continue;
      const bool over = link.has_sent_all(outbox);
      if (over) link.shut();
      ids.push_back(id);
      waits.push_back({link.descriptor(), static_cast<short>(over ? POLLIN : POLLIN | POLLOUT), 0});
    }
    if (waits.empty()) return;
    static_cast<void>(::poll(waits.data(), waits.size(), 100));
    // Incoming data is not looked at, but it must be read. Otherwise the other end would not get
    // what was sent last.
    for (std::size_t i = 0; i < ids.size(); ++i) {
      char bytes[4096];
      ssize_t got = 0;
      // The number of reads is limited: an end that keeps sending has its turn, and is left when
      // the time is over.
      int reads = 0;
      while (reads < kLastReads && (got = ::recv(waits[i].fd, bytes, sizeof bytes, 0)) > 0)
        ++reads;
      if (got == 0 || (got < 0 && errno != EAGAIN)) links_.erase(ids[i]);
    }
  }
}

std::vector<std::pair<std::string, std::string>> Fabric::status() const {
  std::size_t standing = 0, encrypted = 0, waiting = 0;
  for (const auto& [node, peer] : peers_) {
    standing += peer.standing != 0 ? 1 : 0;
    encrypted += peer.standing != 0 && links_.at(peer.standing).encrypts() ? 1 : 0;
    waiting += peer.outbox.size();
  }
  std::string gid;
  const Settings mine = settings();
  for (std::size_t i = 0; i < 16; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    gid += kDigits[mine.gid.bytes[i] >> 4];
    gid += kDigits[mine.gid.bytes[i] & 15];
    if (i % 2 == 1 && i < 15) gid += ':';
  }
  return {{"job", record_.job},
          {"node", cat(record_.node)},
          {"nodes", record_.nodes == kMaxNodes ? "not known" : cat(record_.nodes)},
          {"gid", gid},
          {"lid", cat(mine.first_lid)},
          {"listens", record_.reached.text()},
          {"asks for encryption", identity_.encrypts ? "yes" : "no"},
          {"nodes connected", cat(standing)},
          {"of these encrypted", cat(encrypted)},
          {"connections not proved", cat(links_.size() - standing)},
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
