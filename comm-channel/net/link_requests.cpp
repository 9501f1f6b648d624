#include "comm-channel/net/link_requests.h"

#include <algorithm>
#include <array>

#include "comm-channel/engine/operation.h"

namespace scela::channel {

namespace {

constexpr std::size_t kSendBuffers = 64;

Outcome worst_of(const LinkMove& move, Outcome outcome) {
  return move.outcome == Outcome::none ? outcome : move.outcome;
}

}  // namespace

Result<void> LinkRequests::make(std::size_t most) {
  buffers_.emplace(device_.symbols(), device_.pd(), most, IBV_ACCESS_LOCAL_WRITE);
  return buffers_->add(kSendBuffers);
}

std::byte* LinkRequests::take_or_add_buffer() {
  std::byte* buffer = buffers_->take();
  if (buffer == nullptr && buffers_->count() < kMaxUnderWay && buffers_->add(64))
    buffer = buffers_->take();
  return buffer;
}

// ---- posting ----

bool LinkRequests::post(std::size_t port, const SendSlot& slot, LinkWork& work) {
  const bool message = work.move == nullptr;
  ibv_sge piece{reinterpret_cast<std::uint64_t>(work.bytes), work.length,
                message ? buffers_->key_of(work.bytes) : work.move->operation->memory.lkey()};
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
    if (health_.lasts(device_.now()))
      ranks_.lose_device(
          verbs::verbs_error("post a send", device_.device().context.get(), error).text());
    return false;
  }
  health_.over();
  work.posted = true;
  slots_.on_posted(*ranks_.known(work.rank), port, slot, work.length);
  return true;
}

bool LinkRequests::send_again(Remote& remote) {
  while (!remote.again.empty()) {
    const SendSlot slot = slots_.of_messages(remote);
    if (slot.pair == nullptr || !post(0, slot, *remote.again.front())) return false;
    remote.again.pop_front();
  }
  return true;
}

void LinkRequests::post_message(Remote& remote, const SendSlot& slot, std::byte* buffer,
                                std::uint32_t length) {
  LinkWork& work = works_.take();
  work.rank = remote.rank;
  work.move = nullptr;
  work.bytes = buffer;
  work.left = 0;
  work.opcode = IBV_WR_SEND;
  work.length = length;
  if (!post(0, slot, work)) go_again(remote, work);
}

void LinkRequests::post_question(Remote& remote) {
  const SendSlot slot = slots_.of_messages(remote);
  if (slot.pair == nullptr) return;
  LinkWork& work = works_.take();
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

// Uses all ports that can take something now. A part that cannot be posted on one is sent again by
// the first.
bool LinkRequests::move(int rank, Operation& operation, const std::byte* bytes, std::size_t size,
                        ibv_wr_opcode opcode, std::uint64_t remote_address, std::uint32_t key) {
  Remote& to = ranks_.at(rank);
  if (to.lost) return false;
  std::array<SendSlot, kMaxPorts> slots;
  slots.front() = slots_.of_messages(to);
  if (slots.front().pair == nullptr || !send_again(to)) return false;
  unsigned usable = 1;
  for (std::size_t port = 1; port < to.paths.ports(); ++port) {
    slots[port] = slots_.of_moves(to, port);
    if (slots[port].pair != nullptr) usable |= 1u << port;
  }
  const Stripes::Shares shares = to.paths.cut(size, usable);
  LinkMove& move = moves_.take();
  move.operation = &operation;
  move.parts = 0;
  move.outcome = Outcome::none;
  for (std::size_t port = 0, at = 0; port < to.paths.ports(); at += shares[port++]) {
    if (shares[port] == 0 && (size != 0 || port != 0)) continue;
    LinkWork& work = works_.take();
    work.rank = rank;
    work.move = &move;
    work.bytes = const_cast<std::byte*>(bytes) + at;
    work.length =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(shares[port], device_.max_moved()));
    work.left = shares[port] - work.length;
    work.opcode = opcode;
    work.remote_address = remote_address + at;
    work.key = key;
    ++move.parts;
    if (!post(port, slots[port], work)) go_again(to, work);
  }
  return true;
}

// ---- requests that are complete, or came back ----

void LinkRequests::complete(Remote& remote, LinkWork& work) {
  work.posted = false;
  --work.pair->under_way;
  slots_.on_complete(remote, work.port);
}

bool LinkRequests::go_on(Remote& remote, LinkWork& work) {
  if (work.left == 0) return false;
  work.bytes += work.length;
  work.remote_address += work.length;
  work.length = static_cast<std::uint32_t>(std::min(work.left, device_.max_moved()));
  work.left -= work.length;
  if (remote.lost) {
    end(work, Outcome::peer_ended);
    return true;
  }
  const std::size_t port = work.port;
  SendSlot slot;
  if (remote.again.empty())
    slot = port == 0 ? slots_.of_messages(remote) : slots_.of_moves(remote, port);
  if (slot.pair == nullptr || !post(port, slot, work)) go_again(remote, work);
  return true;
}

void LinkRequests::go_again(Remote& remote, LinkWork& work) {
  remote.again.push_back(&work);
  unsettled_.add(remote);
}

void LinkRequests::break_pair(const LinkWork& work) {
  if (work.pair->broken) return;
  work.pair->broken = true;
  PortLinks& port = ports_[work.port];
  if (port.pairs().pair(work.qp) == work.pair) port.tell(connect::event::Broken{work.qp});
}

void LinkRequests::free(LinkWork& work) {
  if (work.move == nullptr && work.bytes != nullptr) buffers_->give_back(work.bytes);
  works_.give_back(work);
}

Operation* LinkRequests::over(LinkMove& move, Outcome outcome) {
  if (move.outcome == Outcome::none) move.outcome = outcome;
  if (--move.parts != 0) return nullptr;
  Operation* const operation = move.operation;
  moves_.give_back(move);
  return operation;
}

void LinkRequests::end_part(LinkMove& move, Outcome outcome, NetworkUser& user) {
  const Outcome worst = worst_of(move, outcome);
  if (Operation* const operation = over(move, outcome)) user.moved(*operation, worst);
}

void LinkRequests::end(LinkWork& work, Outcome outcome) {
  if (work.move != nullptr) {
    const Outcome worst = worst_of(*work.move, outcome);
    if (Operation* const operation = over(*work.move, worst)) over_.emplace_back(operation, worst);
  }
  free(work);
}

void LinkRequests::end_waiting(Remote& remote) {
  for (LinkWork* const work : remote.again)
    end(*work, Outcome::peer_ended);
  remote.again.clear();
}

void LinkRequests::abandon() {
  for (const auto& port : ports_)
    port->pairs().abandon();
  works_.each([this](LinkWork& work) {
    if (!std::exchange(work.posted, false)) return;
    slots_.on_complete(*ranks_.known(work.rank), work.port);
    end(work, Outcome::peer_ended);
  });
}

unsigned LinkRequests::report_moves(NetworkUser& user) {
  unsigned count = 0;
  while (!over_.empty()) {
    const auto [operation, outcome] = over_.back();
    over_.pop_back();
    ++count;
    user.moved(*operation, outcome);
  }
  return count;
}

}  // namespace scela::channel
