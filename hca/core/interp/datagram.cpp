// Outgoing datagrams: to one queue pair, or to all members of a group.
#include <cstring>

#include "hca/core/model/state.h"
#include "hca/core/wire/address.h"

namespace scela::hca {
namespace {

// The range of the delay of late datagrams (nanoseconds), and how many may be late at a time.
// Beyond that number datagrams arrive in time.
constexpr Moment kLeastLate = 100'000, kMaxLate = 2'000'000;
constexpr std::size_t kMaxAreLate = 1024;

}  // namespace

bool Engine::State::datagram(Qp& qp, Outgoing& out) {
  const auto happens = [this](std::uint32_t times) {
    return times != 0 && random.chance(times, 1000);
  };
  if (!out.times) {
    // The sender drops a datagram that is too long, without an error (IBTA C10-93.1.1).
    const bool is_lost = out.bytes > limit::kMtu || happens(settings.faults.ud_lost);
    out.times = is_lost ? 0 : happens(settings.faults.ud_twice) ? 2 : 1;
    if (!is_lost && happens(settings.faults.ud_late) && late.size() < kMaxAreLate)
      out.late_until = now + random.between(kLeastLate, kMaxLate);
  }
  const Sent gathered = *out.times > 0 ? gather(qp, out) : Sent::yes;
  if (gathered == Sent::later) return false;
  if (gathered == Sent::no_memory) {
    settle(qp, out, Status::local_protection);
    return false;
  }
  for (; *out.times > 0; --*out.times) {
    switch (cast(qp, out)) {
      case Sent::yes:
      case Sent::no_way:
        break;
      case Sent::later:
        return false;
      case Sent::no_memory:
        settle(qp, out, Status::local_protection);
        return false;
    }
    // A datagram that the queue pair sent to itself has put it in error; `out` is gone.
    if (qp.state == QpState::err) return false;
    out.served.clear();
    forget(qp.sending);
  }
  out.sent = out.bytes;
  settle(qp, out, Status::success);
  return true;
}

// Reads the payload before a receive request is taken for it, so that no receiver waits for this
// process's memory.
Engine::State::Sent Engine::State::gather(Qp& qp, Outgoing& out) {
  if (distant.empty() || out.bytes == 0 || !out.data.empty()) return Sent::yes;
  std::vector<std::byte> data(out.bytes);
  std::uint64_t done = 0;
  for (const Piece& piece : out.pieces) {
    const Transfer state =
        read(qp.owner, piece.address, std::span(data).subspan(done, piece.bytes));
    if (state == Transfer::later) return Sent::later;
    if (state == Transfer::refused) return Sent::no_memory;
    done += piece.bytes;
  }
  out.data = std::move(data);
  forget(qp.sending);
  return Sent::yes;
}

// Sends the datagram to its destination: a group, or a queue pair of this node or of another.
Engine::State::Sent Engine::State::cast(Qp& qp, Outgoing& out) {
  const Destination& to = out.request.destination;
  const bool is_global = to.is_global != 0;
  if (out.late_until != 0) return cast_late(qp, out);
  if (is_group(to.gid, is_global)) return cast_to_group(qp, out);
  if (is_local(to.gid, is_global, to.lid)) {
    const Transfer moved = receive_datagram(to.qpn, incoming_of(qp, out));
    return moved == Transfer::later ? Sent::later : Sent::yes;
  }
  const auto node = host.node_of(to.gid, is_global, to.lid);
  if (!node) return Sent::no_way;
  if (host.ready(*node)) return send_part(*node, to.qpn, qp, out);
  blocked[*node].insert(qp.handle);
  return Sent::later;
}

// Sends the datagram to the known nodes, each of which knows its own members of the group. If the
// connection to a node is full, that node misses the datagram.
Engine::State::Sent Engine::State::cast_to_group(Qp& qp, Outgoing& out) {
  constexpr std::uint32_t kNodes = 0;  // no queue pair has that number
  if (!out.served.contains(kNodes)) {
    for (const std::uint32_t node : host.known_nodes())
      if (host.ready(node) && send_part(node, 0, qp, out) == Sent::no_memory)
        return Sent::no_memory;
    out.served.insert(kNodes);
    forget(qp.sending);
  }
  const Incoming incoming = incoming_of(qp, out);
  const std::set<std::uint32_t> members = members_of(out.request.destination.gid);
  for (const std::uint32_t member : members) {
    if (member == qp.handle || out.served.contains(member)) continue;
    if (receive_datagram(member, incoming) == Transfer::later) return Sent::later;
    out.served.insert(member);
    forget(qp.sending);
  }
  // The sender itself comes last: receiving may end it, and with it the request being sent.
  const bool to_itself = members.contains(qp.handle);
  return to_itself && receive_datagram(qp.handle, incoming) == Transfer::later ? Sent::later
                                                                               : Sent::yes;
}

// Copies the datagram out of its process's memory now, as if it were on its way. It arrives after
// datagrams that were sent later.
Engine::State::Sent Engine::State::cast_late(Qp& qp, const Outgoing& out) {
  const Destination& to = out.request.destination;
  const bool is_global = to.is_global != 0;
  if (is_group(to.gid, is_global)) {
    std::vector<std::uint32_t> nodes = host.known_nodes();
    nodes.push_back(0);
    for (const std::uint32_t node : nodes)
      if (const Sent sent = send_part(node, 0, qp, out); sent != Sent::yes) return sent;
    return Sent::yes;
  }
  if (is_local(to.gid, is_global, to.lid)) return send_part(0, to.qpn, qp, out);
  const auto node = host.node_of(to.gid, is_global, to.lid);
  return node ? send_part(*node, to.qpn, qp, out) : Sent::no_way;
}

// Sends the late datagrams that are due. If a connection is full then, its datagram is late once
// more.
void Engine::State::bring_late() {
  while (!late.empty() && late.begin()->first <= now) {
    Late first = std::move(late.begin()->second);
    late.erase(late.begin());
    if (first.node == 0)
      receive(0, first.frame);
    else if (host.ready(first.node))
      host.send(first.node, std::span(first.frame).first(sizeof(FrameHeader)),
                std::span(first.frame).subspan(sizeof(FrameHeader)));
    else
      late.emplace(now + kMaxLate, std::move(first));
  }
}

std::set<std::uint32_t> Engine::State::members_of(const Gid& group) const {
  std::pair<std::uint64_t, std::uint64_t> key;
  std::memcpy(&key.first, group.bytes, 8);
  std::memcpy(&key.second, group.bytes + 8, 8);
  const auto found = groups.find(key);
  return found == groups.end() ? std::set<std::uint32_t>() : found->second;
}

}  // namespace scela::hca
