// Address handles: values in the program's memory, which each datagram carries along.
#include <endian.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "hca/core/wire/port_address.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/domains.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

// Returns the index of the GID in the port's table, or -1 if it is not there.
int gid_index(const Device& device, std::uint8_t port, const ibv_gid& gid) {
  if (gid.raw[0] == kMulticastByte) return 0;
  return std::memcmp(device.gids[port - 1].bytes, gid.raw, sizeof(gid.raw)) == 0 ? 0 : -1;
}

}  // namespace

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  if (attributes->port_num < 1 || attributes->port_num > limit::kPorts ||
      (attributes->is_global != 0 && attributes->grh.sgid_index >= limit::kGids)) {
    return no<ibv_ah>(EINVAL);
  }
  auto* const made = new (std::nothrow) Ah();
  if (made == nullptr) return no<ibv_ah>(ENOMEM);
  made->context = pd->context;
  made->pd = pd;
  ++pd_of(pd).parents;
  Destination& to = made->destination;
  to.is_global = attributes->is_global != 0 ? 1 : 0;
  if (to.is_global != 0) {
    std::memcpy(to.gid.bytes, attributes->grh.dgid.raw, sizeof(to.gid.bytes));
  }
  to.lid = attributes->dlid;
  to.port = attributes->port_num;
  to.sl = attributes->sl;
  return made;
}

int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port_num, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* ah_attr) {
  constexpr std::uint32_t kFlowLabel = 0xfffff;
  *ah_attr = {};
  if (port_num < 1 || port_num > limit::kPorts) {
    errno = EINVAL;
    return -1;
  }
  ah_attr->dlid = wc->slid;
  ah_attr->sl = wc->sl;
  ah_attr->src_path_bits = wc->dlid_path_bits;
  ah_attr->port_num = port_num;
  if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;
  ah_attr->is_global = 1;
  ah_attr->grh.dgid = grh->sgid;
  const int index = gid_index(context_of(context).link.device(), port_num, grh->dgid);
  if (index < 0) {
    errno = ENOENT;
    return -1;
  }
  ah_attr->grh.sgid_index = static_cast<std::uint8_t>(index);
  const std::uint32_t first = be32toh(grh->version_tclass_flow);
  ah_attr->grh.flow_label = first & kFlowLabel;
  ah_attr->grh.hop_limit = grh->hop_limit;
  ah_attr->grh.traffic_class = static_cast<std::uint8_t>(first >> 20 & 0xff);
  return 0;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attributes;
  if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes) != 0) return nullptr;
  return ibv_create_ah(pd, &attributes);
}

int ibv_destroy_ah(ibv_ah* ah) {
  --pd_of(ah->pd).parents;
  delete &ah_of(ah);
  return 0;
}

int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t*, std::uint16_t*) {
  errno = EOPNOTSUPP;  // there is no Ethernet below this device
  return -EOPNOTSUPP;
}

}  // extern "C"
