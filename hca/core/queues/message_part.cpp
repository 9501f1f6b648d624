#include "hca/core/queues/message_part.h"

#include <algorithm>

#include "hca/core/wire/port_address.h"

namespace scela::hca {
namespace {

// The bytes of one part between queue pairs of this node.
constexpr std::uint64_t kPartBytes = 1024 * 1024;

// Returns the port at the other end that the message is sent to; 0 is any port, for a group.
std::uint8_t target_port(const Qp& qp, const Outgoing& out) {
  const QpAttributes& way = qp.attributes;
  if (qp.type != QpType::ud) return port_of(way.dgid, way.is_global != 0, way.dlid);
  const Destination& to = out.request.destination;
  const bool to_group = is_group(to.gid, to.is_global != 0);
  return to_group ? std::uint8_t{0} : port_of(to.gid, to.is_global != 0, to.lid);
}

}  // namespace

Incoming next_part(const LocalPorts& ports, const Qp& qp, const Outgoing& out) {
  Incoming incoming;
  incoming.source_qpn = qp.handle;
  incoming.source_type = qp.type;
  const std::uint32_t port = qp.attributes.port == 2 ? 1 : 0;
  incoming.source_lid = ports.lid(port);
  incoming.source_gid = ports.gid(port);
  incoming.port = target_port(qp, out);
  incoming.from = qp.owner;
  incoming.request = &out.request;
  incoming.psn = out.psn;
  incoming.total = out.bytes;
  incoming.offset = out.sent;
  incoming.count = std::min(out.bytes - out.sent, kPartBytes);
  if ((out.request.flags & send_flag::kInlined) != 0 || !out.data.empty())
    incoming.bytes = std::span(out.data).subspan(out.sent, incoming.count);
  else
    incoming.pieces = &out.pieces;
  return incoming;
}

}  // namespace scela::hca
