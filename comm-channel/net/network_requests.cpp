// The requests of a link: messages, with a credit and a buffer each, and bytes to and from
// registered memory.
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "comm-channel/engine/operation.h"
#include "comm-channel/net/network_link.h"
#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::channel {

namespace event = connect::event;
using connect::Route;

namespace {

// If a thread executes tasks, it does not wake a rank that sleeps, so the rank looks this often.
constexpr std::chrono::nanoseconds kBetweenLooks{100'000};
constexpr unsigned kMaxEvents = 16;

}  // namespace

Result<void> NetworkLink::post_receive(std::byte* buffer) {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(buffer),
                static_cast<std::uint32_t>(receives_->bytes()), receives_->key_of(buffer)};
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = reinterpret_cast<std::uint64_t>(buffer);
  request.sg_list = &piece;
  request.num_sge = 1;
  if (const int error = ::ibv_post_srq_recv(srq_.get(), &request, &bad); error != 0)
    return fail(verbs::verbs_error("post a receive buffer", device_.context.get(), error));
  return {};
}

// Until the buffer is posted, there is less room than the peers believe; a message that finds none
// is sent again.
void NetworkLink::post_again(std::byte* buffer) {
  if (!post_receive(buffer)) unposted_.push_back(buffer);
}

void NetworkLink::post_those_left() {
  while (!unposted_.empty()) {
    if (auto posted = post_receive(unposted_.back()); !posted) {
      if (receiving_.lasts(now())) lose_device(posted.error().text());
      return;
    }
    unposted_.pop_back();
    receiving_.over();
  }
}

Result<verbs::Registration> NetworkLink::registered(std::span<const std::byte> bytes,
                                                    verbs::Registrations::For what) {
  return registrations_->get(const_cast<std::byte*>(bytes.data()), bytes.size(), what);
}

bool NetworkLink::takes_eager(int rank) const {
  const auto& known = remotes_[static_cast<std::size_t>(rank)];
  return !known || !known->flow.offers_only();
}

// ---- out ----

bool NetworkLink::in_turn(const Remote& remote) {
  const int link = link_to(remote.rank);
  if (options_.max_links == 0 || std::ranges::find(in_hand_, link) != in_hand_.end()) return true;
  if (in_hand_.size() >= options_.max_links) return false;
  in_hand_.push_back(link);
  return true;
}

NetworkLink::SendSlot NetworkLink::slot_to(Remote& remote) {
  PortLinks& port = *ports_.front();
  const PortPath& path = remote.paths.front();
  SendSlot slot;
  slot.route = port.route(path.id);
  if (!slot.route) {
    // A request for a connection while leaving would be refused, and the peer would be lost.
    if (leaving_ || (remote.unanswered && now() < remote.ask_after) || !in_turn(remote)) return {};
    connect_flow(remote);
    if (!remote.wanted) remote.wanted = now();
    port.tell(event::Wanted{path.id});
    slot.route = port.route(path.id);
    if (!slot.route) return {};
  }
  std::erase(in_hand_, link_to(remote.rank));
  remote.wanted.reset();
  remote.unanswered.reset();
  Pair* const pair = port.pair(slot.route.qp);
  // Messages on another queue pair come back first, and are sent before new ones.
  if (path.under_way != 0 && remote.by != pair) return {};
  if (!pair->broken && pair->under_way < kPairDepth && sends_under_way_ < kMaxUnderWay)
    slot.pair = pair;
  return slot;
}

NetworkLink::SendSlot NetworkLink::side_slot_to(Remote& remote, std::size_t index) {
  PortLinks& port = *ports_[index];
  const PortPath& path = remote.paths[index];
  SendSlot slot;
  slot.route = port.route(path.id);
  if (!slot.route) {
    if (leaving_ || now() < path.not_before) return {};
    port.tell(event::Wanted{path.id});
    slot.route = port.route(path.id);
    if (!slot.route) return {};
  }
  Pair* const pair = port.pair(slot.route.qp);
  if (!pair->broken && pair->under_way < kPairDepth) slot.pair = pair;
  return slot;
}

bool NetworkLink::post(std::size_t port, const SendSlot& slot, Work& work) {
  const bool message = work.move == nullptr;
  ibv_sge piece{reinterpret_cast<std::uint64_t>(work.bytes), work.length,
                message ? sends_->key_of(work.bytes) : work.move->operation->memory.lkey()};
  Remote& to = *remotes_[static_cast<std::size_t>(work.rank)];
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = reinterpret_cast<std::uint64_t>(&work);
  request.sg_list = &piece;
  request.num_sge = work.length == 0 ? 0 : 1;
  request.opcode = work.opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = work.remote_address;
  request.wr.rdma.rkey = work.key;
  request.qp_type.xrc.remote_srqn = slot.route.srq;
  work.pair = slot.pair;
  work.port = port;
  work.qp = slot.route.qp;
  if (const int error = ::ibv_post_send(slot.pair->qp.get(), &request, &bad); error != 0) {
    if (sending_.lasts(now()))
      lose_device(verbs::verbs_error("post a send", device_.context.get(), error).text());
    return false;
  }
  sending_.over();
  work.posted = true;
  ++slot.pair->under_way;
  ++sends_under_way_;
  ++to.paths[port].under_way;
  to.stripes.went(port, work.length);
  if (port == 0) to.by = slot.pair;
  return true;
}

bool NetworkLink::send_again(Remote& remote) {
  while (!remote.again.empty()) {
    const SendSlot slot = slot_to(remote);
    if (slot.pair == nullptr || !post(0, slot, *remote.again.front())) return false;
    remote.again.pop_front();
  }
  return true;
}

// Returns false for a rank that is lost; the messenger is told of that soon.
bool NetworkLink::send(int rank, const Header& header, std::span<const std::byte> payload) {
  Remote& to = *remote(rank);
  if (to.lost) return false;
  const SendSlot slot = slot_to(to);
  if (slot.pair == nullptr || !send_again(to)) return false;
  std::byte* buffer = sends_->take();
  if (buffer == nullptr && sends_->count() < kMaxUnderWay && sends_->add(64))
    buffer = sends_->take();
  if (buffer == nullptr) return false;
  const bool in_order = is_in_order(header.kind);
  const Room room = header.kind == Kind::credit  ? Room::reserved
                    : !in_order                  ? flow_.room_for_answer(to.flow)
                    : flow_.take_credit(to.flow) ? Room::credit
                                                 : Room::none;
  if (room == Room::none) {
    sends_->give_back(buffer);
    return false;
  }
  return send_in(rank, slot, room, header, payload, buffer);
}

// The caller has taken the room for the message.
bool NetworkLink::send_in(int rank, const SendSlot& slot, Room room, const Header& header,
                          std::span<const std::byte> payload, std::byte* buffer) {
  Remote& to = *remote(rank);
  Header whole = header;
  flow_.stamp(to.flow, room, whole);
  Work& work = works_.take();
  work.rank = rank;
  work.move = nullptr;
  work.bytes = buffer;
  work.left = 0;
  work.opcode = IBV_WR_SEND;
  const std::uint32_t number = to.sequence.number();
  work.length = static_cast<std::uint32_t>(
      channel::write({buffer, sends_->bytes()}, whole, payload, bytes_of(number)));
  // A message that cannot be posted now is posted with those that came back: it has its room.
  if (!post(0, slot, work)) go_again(to, work);
  return true;
}

void NetworkLink::send_notes() {
  while (std::optional<Flow::Note> note = flow_.next()) {
    const auto at = std::ranges::find_if(
        remotes_, [&](const auto& one) { return one && &one->flow == note->peer; });
    if (at == remotes_.end() || (*at)->lost) continue;
    if ((*at)->notes.empty()) with_notes_.push_back(static_cast<int>(at - remotes_.begin()));
    (*at)->notes.push_back(*note);
  }
  while (flow_.woken() != nullptr) {
  }  // the user tries again at each poll
  std::erase_if(with_notes_, [&](int rank) { return send_note(rank, *remote(rank)); });
}

// Returns true if the rank has no notes left.
bool NetworkLink::send_note(int rank, Remote& to) {
  while (!to.notes.empty()) {
    if (to.lost) return true;
    const SendSlot slot = slot_to(to);
    if (slot.pair == nullptr || !send_again(to)) return false;
    std::byte* const buffer = sends_->take();
    if (buffer == nullptr) return false;
    const Flow::Note note = to.notes.front();
    to.notes.pop_front();
    Header header;
    header.kind = Kind::credit;
    header.source = world_.rank;
    send_in(rank, slot, note.room, header, bytes_of(note.body), buffer);
  }
  return true;
}

// Uses all ports that can take something now. A part that cannot be posted on one is sent again by
// the first.
bool NetworkLink::move(int rank, Operation& operation, const std::byte* bytes, std::size_t size,
                       ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t key) {
  Remote& to = *remote(rank);
  if (to.lost) return false;
  std::array<SendSlot, kMaxPorts> slots;
  slots.front() = slot_to(to);
  if (slots.front().pair == nullptr || !send_again(to)) return false;
  unsigned usable = 1;
  for (std::size_t port = 1; port < to.ports; ++port) {
    slots[port] = side_slot_to(to, port);
    if (slots[port].pair != nullptr) usable |= 1u << port;
  }
  const Stripes::Shares shares = to.stripes.cut(size, usable);
  Move& move = moves_.take();
  move.operation = &operation;
  move.parts = 0;
  move.outcome = Outcome::none;
  for (std::size_t port = 0, at = 0; port < to.ports; at += shares[port++]) {
    if (shares[port] == 0 && (size != 0 || port != 0)) continue;
    Work& work = works_.take();
    work.rank = rank;
    work.move = &move;
    work.bytes = const_cast<std::byte*>(bytes) + at;
    work.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(shares[port], max_moved_));
    work.left = shares[port] - work.length;
    work.opcode = opcode;
    work.remote_address = remote_address + at;
    work.key = key;
    ++move.parts;
    if (!post(port, slots[port], work)) go_again(to, work);
  }
  return true;
}

// Posts the next part after one was moved. Returns false if there is none.
bool NetworkLink::go_on(Remote& to, Work& work) {
  if (work.left == 0) return false;
  work.bytes += work.length;
  work.remote_address += work.length;
  work.length = static_cast<std::uint32_t>(std::min(work.left, max_moved_));
  work.left -= work.length;
  if (to.lost) {
    end(work, Outcome::peer_ended);
    return true;
  }
  const std::size_t port = work.port;
  SendSlot slot;
  if (to.again.empty()) slot = port == 0 ? slot_to(to) : side_slot_to(to, port);
  if (slot.pair == nullptr || !post(port, slot, work)) go_again(to, work);
  return true;
}

bool NetworkLink::write(int rank, Operation& operation, std::span<const std::byte> from,
                        std::uint64_t to, std::uint32_t key) {
  return move(rank, operation, from.data(), from.size(), IBV_WR_RDMA_WRITE, to, key);
}

bool NetworkLink::read(int rank, Operation& operation, std::span<std::byte> to, std::uint64_t from,
                       std::uint32_t key) {
  return move(rank, operation, to.data(), to.size(), IBV_WR_RDMA_READ, from, key);
}

// ---- in ----

bool NetworkLink::is_receiving() const {
  return !dead_ &&
         std::ranges::any_of(ports_, [](const auto& port) { return port->is_receiving(); });
}

unsigned NetworkLink::poll(NetworkUser& user) {
  const unsigned received = poll_receives(user);
  unsigned count = received + poll_sends(user);
  if (dead_) {
    count += ports_.front()->poll();  // datagrams about it may not be heard yet
  } else {
    for (const auto& port : ports_)
      count += port->poll();
    settle();
    send_notes();
  }
  if (dead_) abandon();
  count += tell_ends(user);
  // These are reported by the next poll. Losses that wait for the device are found by
  // until_timer().
  return count + static_cast<unsigned>(over_.size() + (is_receiving() ? 0 : lost_.size()));
}

unsigned NetworkLink::poll_receives(NetworkUser& user) {
  std::array<ibv_wc, 32> completions;
  const int count =
      ::ibv_poll_cq(receive_cq_.get(), static_cast<int>(completions.size()), completions.data());
  if (count < 0) lose_device("poll the completion queue of receives");
  post_those_left();
  looks_.looked(static_cast<std::size_t>(std::max(0, count)), completions.size());
  for (int i = 0; i < count; ++i) {
    auto* const buffer =
        reinterpret_cast<std::byte*>(completions[static_cast<std::size_t>(i)].wr_id);
    if (completions[static_cast<std::size_t>(i)].status == IBV_WC_SUCCESS)
      take({buffer, completions[static_cast<std::size_t>(i)].byte_len}, user, buffer);
    else
      post_again(buffer);
  }
  const unsigned heard = hear_device();
  for (const auto& port : ports_)
    port->bury();
  return static_cast<unsigned>(std::max(0, count)) + heard;
}

// Reads the device's asynchronous events while a closed queue pair waits for one. Returns how many
// it has read. Events of other kinds are ignored: polling finds what they report.
unsigned NetworkLink::hear_device() {
  if (!is_receiving()) return 0;
  unsigned heard = 0;
  ibv_async_event event{};
  while (heard < kMaxEvents &&
         device_.symbols->ibv_get_async_event(device_.context.get(), &event) == 0) {
    ++heard;
    if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
      for (const auto& port : ports_)
        port->last_reached(event.element.qp);
    device_.symbols->ibv_ack_async_event(&event);
  }
  return heard;
}

// The message itself names its sender: on a connection of a node, every rank there may send.
void NetworkLink::take(std::span<const std::byte> bytes, NetworkUser& user, std::byte* buffer) {
  const auto message = message_of(bytes);
  const int rank = message ? message->header.source : -1;
  Remote* const from =
      rank >= 0 && rank < world_.size && rank != world_.rank ? remote(rank) : nullptr;
  std::uint32_t number = 0;
  if (from == nullptr || !from->flow.connected() || message->payload.size() < sizeof number)
    return post_again(buffer);
  const auto payload = message->payload.first(message->payload.size() - sizeof number);
  std::memcpy(&number, payload.data() + payload.size(), sizeof number);
  const Sequence::Seen seen = from->sequence.arrived(number);
  if (seen == Sequence::Seen::missing) lose(*from, "a message of it is missing");
  if (seen != Sequence::Seen::next) return post_again(buffer);
  Header header = message->header;
  header.length = static_cast<std::uint32_t>(payload.size());
  std::optional<Credit> credit;
  if (header.kind == Kind::credit) credit = only_body_of<Credit>(payload);
  flow_.arrived(from->flow, header, credit ? &*credit : nullptr);
  if (header.kind == Kind::eager) {
    user.arrived(rank, header, payload);
    post_again(buffer);
    return flow_.reposted(from->flow, room_of(header));
  }
  std::array<std::byte, kMaxSaid> copied;
  const std::size_t size = std::min(payload.size(), copied.size());
  std::memcpy(copied.data(), payload.data(), size);
  post_again(buffer);
  flow_.reposted(from->flow, room_of(header));
  if (header.kind != Kind::credit) user.arrived(rank, header, std::span(copied).first(size));
}

unsigned NetworkLink::poll_sends(NetworkUser& user) {
  if (sends_under_way_ == 0) return 0;
  std::array<ibv_wc, 32> completions;
  const int count =
      ::ibv_poll_cq(send_cq_.get(), static_cast<int>(completions.size()), completions.data());
  if (count < 0) lose_device("poll the completion queue of sends");
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = completions[static_cast<std::size_t>(i)];
    sent(*reinterpret_cast<Work*>(wc.wr_id), wc, user);
  }
  for (const auto& port : ports_)
    port->bury();
  return static_cast<unsigned>(std::max(0, count));
}

void NetworkLink::sent(Work& work, const ibv_wc& wc, NetworkUser& user) {
  Remote& to = *remotes_[static_cast<std::size_t>(work.rank)];
  Pair& pair = *work.pair;
  const std::size_t port = work.port;
  work.posted = false;
  --pair.under_way;
  --sends_under_way_;
  --to.paths[port].under_way;
  if (wc.status != IBV_WC_SUCCESS) {
    came_back(work, wc, user);
  } else {
    if (to.doubted) trust_node_of(work.rank);
    if (to.question != nullptr && work.bytes == to.question) answered(to);
    bytes_by_port_[port] += work.length;
    Move* const move = work.move;
    if (move == nullptr || !go_on(to, work)) {
      free_work(work);
      if (move != nullptr) tell_moved(*move, Outcome::none, user);
    }
  }
  drained(to, port);
}

// Messages that came before arming are found by the next poll.
bool NetworkLink::arm() {
  if (armed_ || dead_) {
    until_timer_.reset();
    for (const auto& port : ports_)
      if (const auto due = port->next_wake()) {
        const std::chrono::nanoseconds left = std::max(connect::Time(0), *due - now());
        until_timer_ = std::min(until_timer_.value_or(left), left);
      }
    if (dead_) return true;
    if (offload_ && offload_->must_look())
      until_timer_ = std::min(until_timer_.value_or(kBetweenLooks), kBetweenLooks);
    return true;
  }
  // A queue that cannot be armed would wake no rank, so this process then polls again and again.
  bool good = true;
  for (verbs::Cq* const cq : {&send_cq_, &receive_cq_})
    good = ::ibv_req_notify_cq(cq->get(), 0) == 0 && good;
  for (const auto& port : ports_)
    good = port->arm() && good;
  if (offload_) good = offload_->arm_events() && good;
  armed_ = good;
  return false;
}

void NetworkLink::doze(const Limit& limit) {
  const Limit most = limit && until_timer_ ? std::min(*limit, *until_timer_)
                     : limit               ? limit
                                           : until_timer_;
  std::array<pollfd, 2> watched{{{events(), POLLIN, 0}, {woken_.get(), POLLIN, 0}}};
  timespec time{};
  if (most) {
    time.tv_sec = most->count() / 1'000'000'000;
    time.tv_nsec = most->count() % 1'000'000'000;
  }
  ::ppoll(watched.data(), watched.size(), most ? &time : nullptr, nullptr);
}

void NetworkLink::wake() {
  ::eventfd_write(woken_.get(), 1);
}

bool NetworkLink::something() const {
  pollfd watched{events_->fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

void NetworkLink::disarm() {
  eventfd_t ignored = 0;
  ::eventfd_read(woken_.get(), &ignored);
  // If the device is gone, the events do not end.
  for (unsigned i = 0; i < kMaxEvents && something(); ++i) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (device_.symbols->ibv_get_cq_event(events_.get(), &cq, &context) != 0) return;
    device_.symbols->ibv_ack_cq_events(cq, 1);
    armed_ = false;
  }
}

}  // namespace scela::channel
