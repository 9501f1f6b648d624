#include "nla/spawn/factory.h"
#include "nla/spawn/kinds.h"

namespace scela::nla {

const NetworkParts& network_parts() {
  static constexpr NetworkParts kParts{&make_ssh_sessions, &connect_tls, &accept_tls,
                                       &open_dial_credential};
  return kParts;
}

}  // namespace scela::nla
