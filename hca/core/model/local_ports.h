// The addresses of this node's two ports. Both lead to all of the node's queue pairs, but a queue
// pair receives messages to its own port only. The interpreter uses it. The values are constant;
// any thread may read them.
#pragma once

#include <cstdint>

#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

class LocalPorts {
 public:
  // The GID and the LID of the first port. Those of the second port are one more, the GID in its
  // last byte.
  LocalPorts(const Gid& first_gid, std::uint16_t first_lid) : gid_(first_gid), lid_(first_lid) {}

  // Returns the GID or the LID of a port. `index` is 0 for the first port and 1 for the second.
  Gid gid(std::uint32_t index) const {
    Gid gid = gid_;
    gid.bytes[15] = static_cast<std::uint8_t>(gid.bytes[15] + index);
    return gid;
  }
  std::uint16_t lid(std::uint32_t index) const { return static_cast<std::uint16_t>(lid_ + index); }
  // Returns true if the address is that of a port of this node. The address is the GID if
  // `is_global` is true, otherwise the LID.
  bool contains(const Gid& gid, bool is_global, std::uint16_t lid) const {
    if (!is_global) return lid == lid_ || lid == lid_ + 1;
    return gid == gid_ || gid == this->gid(1);
  }

 private:
  Gid gid_;
  std::uint16_t lid_;
};

}  // namespace scela::hca
