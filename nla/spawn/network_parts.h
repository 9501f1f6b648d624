// The parts of the shell (the code around an agent's core that makes system calls) that need libssh
// and OpenSSL: starting agents over ssh, and links over TLS. scela-run and scela-nla have them.
// scela-leaf, the small agent for nodes that start no others, does not.
//
// A program has them if it refers to network_parts(); nothing else refers to those libraries.
#pragma once

#include <memory>

#include "nla/link/tls.h"
#include "nla/spawn/kinds.h"

namespace scela::nla {

// The functions of the two parts, which the headers above describe.
struct NetworkParts {
  decltype(&nla::make_ssh_sessions) make_ssh_sessions;
  decltype(&nla::connect_tls) connect_tls;
  decltype(&nla::accept_tls) accept_tls;
};

const NetworkParts& network_parts();

}  // namespace scela::nla
