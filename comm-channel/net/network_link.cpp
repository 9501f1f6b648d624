// The parts of a link, and its connections. network_requests.cpp has messages and moves.
#include "comm-channel/net/network_link.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "common/core/overloaded.h"
#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::channel {

namespace event = connect::event;
using connect::PeerAddress;
using connect::PeerId;

namespace {

constexpr std::size_t kSendBuffers = 64;
constexpr std::uint64_t kUnusedRegistered = std::uint64_t{256} << 20;

std::uint64_t hash_of(std::string_view text, std::uint64_t more) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ more;  // FNV-1a
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

NetworkLink::NetworkLink(const World& world, const Options& options, verbs::Device device)
    : world_(world),
      options_(options),
      device_(std::move(device)),
      remotes_(static_cast<std::size_t>(world.size)) {}

NetworkLink::~NetworkLink() = default;

Result<std::unique_ptr<NetworkLink>> NetworkLink::open(const World& world, const Options& options,
                                                       const connect::JobSecret& word,
                                                       verbs::Device device, int file) {
  std::unique_ptr<NetworkLink> link(new NetworkLink(world, options, std::move(device)));
  if (auto made = link->make(word, file); !made) return fail(std::move(made.error()));
  return link;
}

Result<void> NetworkLink::make(const connect::JobSecret& word, int file) {
  const verbs::Symbols& symbols = *device_.symbols;
  const auto into = [](auto& place, auto made) -> Result<void> {
    if (!made) return fail(std::move(made.error()));
    place = std::move(*made);
    return {};
  };
  Result<void> good = into(pd_, verbs::alloc_pd(symbols, device_.context));
  const std::uint32_t buffers =
      std::min<std::uint32_t>(device_.capability.limits.shared_requests, 4096);
  if (good) good = into(events_, verbs::create_comp_channel(symbols, device_.context));
  // Asynchronous events are read only if one is awaited, and by no call that blocks.
  if (good && ::fcntl(device_.context->async_fd, F_SETFL,
                      ::fcntl(device_.context->async_fd, F_GETFL) | O_NONBLOCK) != 0)
    good = fail(
        os_error(ErrorKind::io, "read the adapter's asynchronous events without waiting", errno));
  woken_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (good && !woken_)
    good = fail(os_error(ErrorKind::io, "make an eventfd to be woken by", errno,
                         std::string(limit_advice(errno))));
  if (good)
    good = into(send_cq_, verbs::create_cq(symbols, device_.context,
                                           static_cast<int>(kMaxUnderWay + kMaxPorts), events_));
  if (good)
    good = into(receive_cq_,
                verbs::create_cq(symbols, device_.context, static_cast<int>(buffers), events_));
  if (good && device_.capability.mode == verbs::Mode::xrc) {
    good = into(xrcd_, verbs::open_xrcd(device_.context, file));
    if (good) good = into(srq_, verbs::create_xrc_srq(symbols, pd_, xrcd_, receive_cq_, buffers));
  } else if (good) {
    good = into(srq_, verbs::create_srq(symbols, pd_, buffers));
  }
  if (!good) return good;
  looks_.hold(static_cast<std::uint64_t>(receive_cq_->cqe));
  registrations_ = std::make_unique<verbs::Registrations>(symbols, pd_, kUnusedRegistered);
  max_moved_ = verbs::longest_message(device_.capability.ports);
  // An offloaded channel is one queue pair, and uses one port.
  if (options_.offload && (ports_to_use() == 1 || options_.rendezvous == Rendezvous::offloaded))
    offload_.emplace(device_, pd_, events_, static_cast<std::uint32_t>(options_.offload_channels));
  const std::size_t most =
      sizeof(Header) + std::max(options_.eager_verbs, kMaxSaid) + sizeof(std::uint32_t);
  sends_.emplace(symbols, pd_, most, IBV_ACCESS_LOCAL_WRITE);
  receives_.emplace(symbols, pd_, most, IBV_ACCESS_LOCAL_WRITE);
  if (good = sends_->add(kSendBuffers); !good) return good;
  for (const auto count = flow_.pool(); receives_->count() < count;) {
    if (good = receives_->add(count); !good) return good;
    while (std::byte* const buffer = receives_->take())
      if (good = post_receive(buffer); !good) return good;
  }
  return make_ports(word);
}

// If connections are limited, one that carries only moved bytes would be one less for messages.
std::size_t NetworkLink::ports_to_use() const {
  if (options_.max_links != 0) return 1;
  const std::size_t active = std::min(device_.capability.ports.size(), kMaxPorts);
  return options_.ports == 0 ? active : std::min(options_.ports, active);
}

Result<void> NetworkLink::make_ports(const connect::JobSecret& word) {
  PeerAddress self;
  self.name = {hash_of(world_.job, 0), static_cast<std::uint32_t>(world_.rank)};
  self.life =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  self.node = hash_of(world_.job, static_cast<std::uint64_t>(world_.node()) + 1);
  PortLinks::User& user = *this;
  const PortLinks::Job job{static_cast<std::uint32_t>(world_.size), word, options_.max_links};
  const PortParts parts{device_, pd_, xrcd_, srq_, events_, send_cq_, receive_cq_, looks_};
  for (std::size_t port = 0; port < ports_to_use(); ++port) {
    ports_.push_back(std::make_unique<PortLinks>(parts, port, user));
    if (auto made = ports_.back()->make(self, job); !made) return made;
  }
  return {};
}

// Returns one peer address for each port.
std::string NetworkLink::address() const {
  std::string text;
  for (const auto& port : ports_)
    text.append(reinterpret_cast<const char*>(&port->address()), sizeof(PeerAddress));
  return text;
}

std::string NetworkLink::describe() const {
  const std::size_t asked = options_.ports;
  std::string text = cat(device_.capability.describe(), ", large messages by ", ports_.size(),
                         ports_.size() == 1 ? " port" : " ports");
  if (asked > ports_.size())
    text += cat(" of the ", asked, " that were asked for: ",
                options_.max_links != 0 ? "connections are limited"
                : asked > kMaxPorts && ports_.size() == kMaxPorts
                    ? "more are not used"
                    : "the others are not there, or not active");
  return text;
}

// ---- names of peers ----

NetworkLink::Remote* NetworkLink::remote(int rank) {
  auto& known = remotes_[static_cast<std::size_t>(rank)];
  if (known) return known.get();
  known = std::make_unique<Remote>();
  known->rank = rank;
  const Result<std::string> said = card_of_(rank);
  const std::size_t theirs = said ? said->size() / sizeof(PeerAddress) : 0;
  if (theirs != 0 && theirs <= kMaxPorts && said->size() % sizeof(PeerAddress) == 0) {
    known->ports = std::min(ports_.size(), theirs);
    for (std::size_t port = 0; port < known->ports; ++port) {
      PeerAddress address;
      std::memcpy(&address, said->data() + port * sizeof address, sizeof address);
      known->paths[port].id = ports_[port]->add(address);
    }
  } else {
    lose(*known, said ? std::string("what it has said of itself is of another version of libscela")
                      : said.error().text());
  }
  return known.get();
}

NetworkLink::Remote* NetworkLink::remote_of(std::size_t port, PeerId peer) {
  const connect::Name& name = ports_[port]->peers().address(peer).name;
  if (name.job != ports_[port]->address().name.job || name.rank >= remotes_.size()) return nullptr;
  Remote* const found = remote(static_cast<int>(name.rank));
  if (found->paths[port].id == connect::kNone) found->paths[port].id = peer;
  return found;
}

// Called before the peer is told of a connection, since it may send at once.
void NetworkLink::connect_flow(Remote& remote) {
  if (remote.flow.connected() || remote.lost) return;
  const std::uint32_t count = flow_.connect(remote.flow);
  Result<void> good = receives_->add(count);
  for (std::uint32_t i = 0; i < count && good; ++i)
    good = post_receive(receives_->take());
  if (!good) lose(remote, cat("there is no memory for its messages: ", good.error().text()));
}

// ---- events of ports ----

// Messages come only by the first port.
void NetworkLink::addressed(std::size_t port, PeerId peer) {
  Remote* const remote = port == 0 ? remote_of(port, peer) : nullptr;
  if (remote != nullptr) connect_flow(*remote);
}

void NetworkLink::drain(std::size_t port, PeerId peer) {
  Remote* const remote = remote_of(port, peer);
  if (remote == nullptr) return;
  remote->paths[port].draining = true;
  drained(*remote, port);
}

// Requests that come back are sent again.
void NetworkLink::posted_is_lost(std::size_t port, PeerId peer) {
  if (Remote* const remote = remote_of(port, peer)) remote->paths[port].draining = false;
}

// A port other than the first only adds bandwidth, so its failure is no error.
void NetworkLink::not_connected(std::size_t port, PeerId peer, connect::Failure why) {
  Remote* const remote = remote_of(port, peer);
  if (remote == nullptr) return;
  if (port == 0) return not_connected(*remote, why);
  remote->paths[port].not_before = now() + kPauseOfPort;
}

void NetworkLink::gave_up(std::size_t port, PeerId peer) {
  Remote* const remote = port == 0 ? remote_of(port, peer) : nullptr;
  if (remote == nullptr) return;
  const std::string& here = ports_.front()->why_no_pair();
  lose(*remote,
       here.empty() ? "it has given this rank up, as its own adapter has failed"
                    : cat("it has given this rank up, whose own adapter had failed: ", here),
       Tells::no);
}

// A port other than the first only adds bandwidth.
void NetworkLink::failed(std::size_t port, const std::string& why) {
  if (port == 0) lose_device(why);
}

void NetworkLink::changed() {
  std::uint32_t links = 0, pairs = 0;
  for (const auto& port : ports_) {
    const connect::Counts counts = port->counts();
    links += counts.links;
    pairs += counts.links + counts.held + static_cast<std::uint32_t>(port->dying());
  }
  max_connections_ = std::max(max_connections_, links);
  max_queue_pairs_ = std::max(max_queue_pairs_, pairs);
}

void NetworkLink::drained(Remote& remote, std::size_t port) {
  PortPath& path = remote.paths[port];
  if (!path.draining || path.under_way != 0) return;
  path.draining = false;
  ports_[port]->tell(event::Drained{path.id});
}

void NetworkLink::account(Accounts& accounts) const {
  accounts.registered =
      sends_->registered() + receives_->registered() + registrations_->counts().bytes;
  for (const auto& port : ports_) {
    const connect::Counts counts = port->counts();
    accounts.send_queue_pairs += counts.links;
    accounts.connections += counts.links;
    accounts.receive_queue_pairs += counts.held;
    accounts.handshake_repeats += counts.repeats;
    accounts.handshake_unheard += counts.unheard;
    accounts.registered += port->registered();
  }
  accounts.receive_buffers = receives_->count();
  accounts.max_connections = max_connections_;
  accounts.max_queue_pairs = max_queue_pairs_;
  accounts.rnr_events = rnr_events_;
  accounts.credit_waits = flow_.waits();
  accounts.resent = resent_;
  accounts.ports = ports_.size();
  accounts.by_port_1 = bytes_by_port_[0];
  accounts.by_port_2 = bytes_by_port_[1];
  accounts.by_port_3 = bytes_by_port_[2];
  accounts.by_port_4 = bytes_by_port_[3];
}

}  // namespace scela::channel
