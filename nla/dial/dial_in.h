// How an agent that a bulk starter (srun, flux exec) has started reaches scela-run: the steps
// before it is an agent. It has the job's secret from a credential (nla/dial/dial_credential.h) or
// from standard input, and connects to scela-run.
// scela-nla calls this in its only thread; it blocks.
//
// The connection stays open for as long as the node is not clean, as the guardian has it
// (nla/guard/guardian.h). Its end tells either side of the end of the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/io/address.h"

namespace scela::nla {

// An agent that is connected to scela-run, and has said nothing yet.
struct DialedIn {
  Fd socket;           // to scela-run
  std::string secret;  // of the job (dial_hello.h)
  Address own;         // this machine's, as scela-run is reached from it; its port is 0
  std::string own_text;
  // As sshd writes it, so that the node's own address is found in the same way.
  std::string ssh_connection;
};

// Connects to one address of scela-run's machine, within kDialMs. The secret is empty. Returns an
// error (kind unreachable) with the address and the cause.
Result<DialedIn> dial_address(const Address& root);

// Connects to the first of the addresses "ADDRESS:PORT,..." (IPv6 in brackets) that answers; each
// of them has kDialMs. The secret is what arrives first: a line at descriptor 0, or all of it at
// `opened` (open_dial_credential()), which may be invalid. Descriptor 0 then is /dev/null. Returns
// an error (kind usage, io or unreachable) for malformed addresses, if there is no secret, and if
// no address answers.
Result<DialedIn> dial_in(std::string_view addresses, Fd opened);

// The limit of one attempt to connect, in milliseconds. A larger one delays a node to which the
// first address of scela-run's machine leads nowhere.
inline constexpr int kDialMs = 3000;

// Has the kernel notice within half a minute that the peer's machine is gone, although neither side
// says anything. Stopped processes count as there.
void notice_lost_peer(const Fd& socket);

// Returns the addresses of this machine to which other machines may connect, as dial_in() reads
// them, each with this port. The loopback counts only if there is no other. If `network` is not
// empty, only the address that this choice of --network means is returned, or an empty text if
// there is none.
std::string addresses_to_dial(std::uint16_t port, std::string_view network = {});
// Returns the same of a machine with these addresses. Those of loopback interfaces other than
// 127.0.0.1 may be anycast or virtual ones, which lead others to another machine.
std::string addresses_to_dial(std::uint16_t port, const std::vector<InterfaceAddress>& machine);

}  // namespace scela::nla
