// How a link is made, and how completions reach its parts.
#include "comm-channel/net/network_link.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "common/core/text.h"

namespace scela::channel {

using connect::PeerAddress;

namespace {

// Asynchronous events of the device that are read at a time.
constexpr unsigned kMaxDeviceEvents = 16;

std::uint64_t hash_of(std::string_view text, std::uint64_t more) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ more;  // FNV-1a
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

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

// ---- making and describing a link ----

NetworkLink::NetworkLink(const World& world, const ChannelOptions& options, verbs::Device device)
    : world_(world),
      options_(options),
      device_(std::move(device)),
      ports_(device_),
      turns_(world_, device_.by_rank(), options_.max_links),
      ranks_(world_, device_, ports_, turns_),
      unsettled_(device_),
      receives_(device_, ranks_, flow_),
      slots_(device_, ports_, turns_, receives_),
      requests_(device_, ports_, ranks_, slots_, unsettled_),
      messages_(world_, flow_, ranks_, receives_, slots_, requests_),
      refused_(messages_, requests_, unsettled_, std::chrono::seconds(options_.unreachable_after)),
      checks_({world_, device_, ports_, turns_, ranks_, slots_, requests_, refused_, unsettled_},
              {options_.unreachable_after, options_.max_links != 0}),
      port_events_(ports_, ranks_, receives_, slots_, checks_, device_),
      sleep_(device_, ports_, offload_) {}

// The queue pairs end before the buffers that were posted to them.
NetworkLink::~NetworkLink() {
  ports_.close();
}

Result<std::unique_ptr<NetworkLink>> NetworkLink::open(const World& world,
                                                       const ChannelOptions& options,
                                                       const connect::JobSecret& word,
                                                       verbs::Device device, int file) {
  std::unique_ptr<NetworkLink> link(new NetworkLink(world, options, std::move(device)));
  if (auto made = link->make(word, file); !made) return fail(std::move(made.error()));
  return link;
}

Result<void> NetworkLink::make(const connect::JobSecret& word, int file) {
  if (auto made = device_.make(file); !made) return made;
  if (auto made = sleep_.make(); !made) return made;
  // An offloaded channel is one queue pair, and uses one port.
  if (options_.offload.enabled &&
      (ports_to_use() == 1 || options_.rendezvous == Rendezvous::offloaded))
    offload_.emplace(device_.device(), device_.pd(), device_.events(),
                     static_cast<std::uint32_t>(options_.offload.max_channels));
  const std::size_t most =
      sizeof(Header) + std::max(options_.eager.verbs, kMaxSaid) + sizeof(std::uint32_t);
  if (auto made = requests_.make(most); !made) return made;
  if (auto made = receives_.make(most); !made) return made;
  return make_ports(word);
}

// If connections are limited, one that carries only moved bytes would be one less for messages.
std::size_t NetworkLink::ports_to_use() const {
  if (options_.max_links != 0) return 1;
  const std::size_t active = std::min(device_.device().capability.ports.size(), kMaxPorts);
  return options_.ports == 0 ? active : std::min(options_.ports, active);
}

Result<void> NetworkLink::make_ports(const connect::JobSecret& word) {
  PeerAddress self;
  self.name = {hash_of(world_.job, 0), static_cast<std::uint32_t>(world_.rank)};
  self.life =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  self.node = hash_of(world_.job, static_cast<std::uint64_t>(world_.node()) + 1);
  const PortLinks::Job job{static_cast<std::uint32_t>(world_.size), word, options_.max_links};
  for (std::size_t port = 0; port < ports_to_use(); ++port)
    if (auto made = ports_.add(self, job, port_events_); !made) return made;
  return {};
}

std::string NetworkLink::describe() const {
  const std::size_t asked = options_.ports;
  std::string text = cat(device_.device().capability.describe(), ", large messages over ",
                         ports_.size(), ports_.size() == 1 ? " port" : " ports");
  if (asked > ports_.size())
    text += cat(" (", asked, " requested, but ",
                options_.max_links != 0 ? std::string("a limit of connections allows one")
                : asked > kMaxPorts && ports_.size() == kMaxPorts
                    ? cat("at most ", kMaxPorts, " are used")
                    : std::string("the device has no more active ports"),
                ")");
  const std::string& uncached = device_.registrations().why();
  if (!uncached.empty()) text += cat("; no registration cache (", uncached, ")");
  return text;
}

void NetworkLink::add_counters(Counters& counters) const {
  counters.registered_bytes =
      requests_.registered() + receives_.registered() + device_.registrations().counts().bytes;
  ports_.add_counters(counters);
  counters.receive_buffers = receives_.count();
  counters.rnr_events = rnr_events_;
  counters.credit_waits = flow_.waits();
  counters.resent = resent_;
  counters.port_bytes = bytes_by_port_;
}

Result<verbs::Registration> NetworkLink::registered(std::span<const std::byte> bytes,
                                                    verbs::Registrations::For what) {
  return device_.registrations().get(const_cast<std::byte*>(bytes.data()), bytes.size(), what);
}

bool NetworkLink::takes_eager(int rank) const {
  const Remote* const known = ranks_.known(rank);
  return known == nullptr || !known->flow.offers_only();
}

// ---- completions ----

unsigned NetworkLink::poll(NetworkUser& user) {
  const unsigned received = poll_receives(user);
  unsigned count = received + poll_sends(user);
  if (device_.works()) {
    for (const auto& port : ports_)
      count += port->poll();
    checks_.settle();
    messages_.send_notes();
  } else {
    count += ports_.first().poll();  // datagrams about it may not be read yet
  }
  if (!device_.works()) requests_.abandon();
  count += report_ends(user);
  // These are reported by the next poll. Losses that wait for the device are found by
  // until_timer().
  const std::size_t losses = ports_.is_receiving() ? 0 : ranks_.unreported();
  return count + static_cast<unsigned>(requests_.unreported() + losses);
}

unsigned NetworkLink::poll_receives(NetworkUser& user) {
  std::array<ibv_wc, 32> completions;
  const int count = ::ibv_poll_cq(device_.receive_cq().get(), static_cast<int>(completions.size()),
                                  completions.data());
  if (count < 0) ranks_.lose_device("poll the completion queue of receives");
  receives_.post_those_left();
  device_.looks().looked(static_cast<std::size_t>(std::max(0, count)), completions.size());
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = completions[static_cast<std::size_t>(i)];
    auto* const buffer = reinterpret_cast<std::byte*>(wc.wr_id);
    if (wc.status == IBV_WC_SUCCESS)
      messages_.receive({buffer, wc.byte_len}, user, buffer);
    else
      receives_.post_again(buffer);
  }
  const unsigned events = read_device_events();
  ports_.bury();
  return static_cast<unsigned>(std::max(0, count)) + events;
}

// Reads the device's asynchronous events while a closed queue pair waits for one. Events of other
// kinds are ignored: polling finds what they report.
unsigned NetworkLink::read_device_events() {
  if (!ports_.is_receiving()) return 0;
  const verbs::Symbols& symbols = device_.symbols();
  unsigned count = 0;
  ibv_async_event event{};
  while (count < kMaxDeviceEvents &&
         symbols.ibv_get_async_event(device_.device().context.get(), &event) == 0) {
    ++count;
    if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
      for (const auto& port : ports_)
        port->pairs().note_last_receive(event.element.qp);
    symbols.ibv_ack_async_event(&event);
  }
  return count;
}

unsigned NetworkLink::poll_sends(NetworkUser& user) {
  if (slots_.under_way() == 0) return 0;
  std::array<ibv_wc, 32> completions;
  const int count = ::ibv_poll_cq(device_.send_cq().get(), static_cast<int>(completions.size()),
                                  completions.data());
  if (count < 0) ranks_.lose_device("poll the completion queue of sends");
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = completions[static_cast<std::size_t>(i)];
    on_complete(*reinterpret_cast<LinkWork*>(wc.wr_id), wc, user);
  }
  ports_.bury();
  return static_cast<unsigned>(std::max(0, count));
}

void NetworkLink::on_complete(LinkWork& work, const ibv_wc& wc, NetworkUser& user) {
  Remote& to = *ranks_.known(work.rank);
  const std::size_t port = work.port;
  requests_.complete(to, work);
  if (wc.status != IBV_WC_SUCCESS) {
    on_failed(to, work, wc, user);
  } else {
    if (to.doubt.since) checks_.trust_node_of(work.rank);
    refused_.on_sent(to, work.bytes);
    bytes_by_port_[port] += work.length;
    LinkMove* const move = work.move;
    if (move == nullptr || !requests_.go_on(to, work)) {
      requests_.free(work);
      if (move != nullptr) requests_.end_part(*move, Outcome::none, user);
    }
  }
  slots_.report_drained(to, port);
}

// The first completion shows what is wrong; the requests behind it were not carried out. Requests
// that may or may not have arrived are sent again by another queue pair. The receiver recognizes a
// message by its number; bytes that are written or read twice are the same.
void NetworkLink::on_failed(Remote& to, LinkWork& work, const ibv_wc& wc, NetworkUser& user) {
  const char* const what = device_.symbols().ibv_wc_status_str(wc.status);
  if (wc.status == IBV_WC_RNR_RETRY_EXC_ERR) ++rnr_events_;
  requests_.break_pair(work);
  const bool message = work.move == nullptr;
  const bool of_the_way = is_of_the_way(wc.status, message);
  if (of_the_way && !to.lost) checks_.doubt_node_of(work.rank, what);
  if (of_the_way) to.paths.pause(work.port, device_.now() + kPauseOfPort);
  const bool refused = !of_the_way && wc.status != IBV_WC_WR_FLUSH_ERR &&
                       wc.status != IBV_WC_RNR_RETRY_EXC_ERR;  // no buffer just then
  if (!message && refused && !to.lost && is_of_the_other_side(wc.status))
    return refused_.add(to, work);
  if (!message && (refused || to.lost)) {
    LinkMove& move = *work.move;
    const bool ended = to.lost;
    requests_.free(work);
    return requests_.end_part(move, ended ? Outcome::peer_ended : Outcome::device, user);
  }
  // The queue where the rank receives is gone: the rank has ended.
  if (message && refused && wc.status == IBV_WC_REM_INV_REQ_ERR)
    ranks_.lose(to, {}, RankTable::Notify::no);
  else if (message && refused)
    ranks_.lose(to, cat("its adapter refuses messages: ", what));
  if (to.lost || (message && work.bytes == nullptr)) return requests_.free(work);
  ++resent_;
  requests_.go_again(to, work);
}

// ---- ends ----

unsigned NetworkLink::report_ends(NetworkUser& user) {
  unsigned count = 0;
  if (device_.works()) count += requests_.report_moves(user);
  count += ranks_.report_losses(user);
  // Now the user knows why the operations fail.
  if (!device_.works() && ranks_.unreported() == 0) count += requests_.report_moves(user);
  return count;
}

void NetworkLink::ended(int rank) {
  Remote* const known = ranks_.known(rank);
  if (known == nullptr) return;
  Remote& gone = *known;
  if (!gone.lost) checks_.on_ended(rank);
  ranks_.note_ended(gone);
  requests_.end_waiting(gone);
  refused_.on_ended(gone);
  messages_.on_ended(gone);
  // A peer that leaves still waits for answers.
  if (gone.leaves || !device_.works()) return;
  for (std::size_t port = 0; port < ports_.size(); ++port)
    if (gone.paths.id(port) != connect::kNone)
      ports_[port].tell(connect::event::PeerEnded{gone.paths.id(port)});
}

// Credit for others is not waited for: a rank that ends receives no more.
bool NetworkLink::idle() const {
  return slots_.under_way() == 0 && std::ranges::none_of(ranks_.all(), [](const auto& one) {
           return one && !one->again.empty();
         });
}

bool NetworkLink::leave() {
  if (!device_.works()) return true;
  ports_.begin_to_leave();
  return ports_.has_left();
}

}  // namespace scela::channel
