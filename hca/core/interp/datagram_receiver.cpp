#include "hca/core/interp/datagram_receiver.h"

#include <array>
#include <cstring>

namespace scela::hca {
namespace {

// Builds a global route header (IBTA 8.3): version 6, the length of the payload, the next header,
// the hop limit, and both GIDs.
std::array<std::byte, limit::kGrhBytes> route_header(const Incoming& incoming) {
  std::array<std::byte, limit::kGrhBytes> header{};
  header[0] = std::byte{0x60};
  const std::uint64_t payload = incoming.total + 24;
  header[4] = static_cast<std::byte>(payload >> 8 & 0xFF);
  header[5] = static_cast<std::byte>(payload & 0xFF);
  header[6] = std::byte{0x1B};
  header[7] = std::byte{64};
  std::memcpy(&header[8], incoming.source_gid.bytes, 16);
  std::memcpy(&header[24], incoming.request->destination.gid.bytes, 16);
  return header;
}

}  // namespace

Transfer DatagramReceiver::receive(std::uint32_t qpn, const Incoming& incoming) {
  Qp* qp = objects_.find<Qp>(qpn);
  if (!qp || qp->type != QpType::ud || !accepts(*qp, incoming)) return Transfer::refused;
  if (incoming.request->destination.qkey != qp->attributes.qkey) return Transfer::refused;
  Srq* srq = qp->srq != 0 ? objects_.find<Srq>(qp->srq) : nullptr;
  if (!receives_.begin_receive(*qp, srq)) return Transfer::refused;
  const Receiving& received = qp->received;
  if (!steps_.may_fill(qp->received)) return Transfer::later;
  std::vector<Piece> pieces;
  Incoming datagram = incoming;
  datagram.total += limit::kGrhBytes;
  const bool fits = datagram.total <= total_bytes(received.sges);
  if (!fits || !objects_.find_pieces(received.sges, received.pd, received.owner,
                                     access::kLocalWrite, pieces)) {
    receives_.finish_receive(*qp, datagram, fits ? Status::local_protection : Status::local_length);
    shutdown_.enter_error(*qp);
    return Transfer::refused;
  }
  const Transfer moved = deliver(received, pieces, incoming);
  if (moved == Transfer::later) return moved;
  const bool ok = moved == Transfer::done;
  receives_.finish_receive(*qp, datagram, ok ? Status::success : Status::local_protection);
  if (!ok) shutdown_.enter_error(*qp);
  return moved;
}

Transfer DatagramReceiver::deliver(const Receiving& received, const std::vector<Piece>& pieces,
                                   const Incoming& incoming) {
  if (incoming.request->destination.is_global != 0) {
    const auto header = route_header(incoming);
    Incoming route = incoming;
    route.bytes = header;
    route.count = header.size();
    const Transfer moved = payloads_.deliver(route, received.owner, pieces, 0);
    if (moved != Transfer::done) return moved;
  }
  return payloads_.deliver(incoming, received.owner, pieces, limit::kGrhBytes);
}

}  // namespace scela::hca
