// The steps of a queue pair from its creation until it sends and receives, for RC, UD and both ends
// of XRC.
#pragma once

#include <cstdint>

#include "comm-channel/verbs/capability.h"
#include "comm-channel/verbs/verbs_handles.h"

namespace scela::channel::verbs {

// The address of the other end, as its process has told it. The caller encodes it on the wire.
struct Target {
  std::uint16_t lid = 0;
  ibv_gid gid{};
  ibv_mtu mtu = IBV_MTU_1024;  // the other port's; the smaller counts
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;  // that it will send
};

// This says how long the sending end waits for the other end. The values are those of ibv_qp_attr.
struct Patience {
  std::uint8_t timeout = 14;  // 4.096 us * 2^14 = 67 ms per try
  std::uint8_t retries = 7;
  // A receiver without a buffer is not waited for, since credits promise a buffer. A message that
  // meets none is still reported as an error (RNR) and counted, and not hidden.
  std::uint8_t not_ready_retries = 0;
};

// Returns the address attributes of a path from the port to the target: by GID or by LID.
ibv_ah_attr address_of(const Port& from, const Target& to);

// These bring a queue pair of RC, XRC_SEND or XRC_RECV from RESET to INIT, then to RTR (it receives
// from the target), then to RTS (it sends).
// `access` says what the other end may do with this end's memory (IBV_ACCESS_REMOTE_WRITE, ...).
// `reads` is the number of RDMA reads at a time that this end answers (to_receive) or asks for
// (to_send). `first_packet` is the first PSN that this end sends.
Result<void> to_init(const Symbols& symbols, const Qp& qp, const Port& port, unsigned access);
Result<void> to_receive(const Symbols& symbols, const Qp& qp, const Port& port,
                        const Target& target, std::uint8_t reads);
Result<void> to_send(const Symbols& symbols, const Qp& qp, std::uint32_t first_packet,
                     std::uint8_t reads, const Patience& patience);
// Brings a UD queue pair from its creation to ready to send. `key` is its Q_Key.
Result<void> ready_datagrams(const Symbols& symbols, const Qp& qp, const Port& port,
                             std::uint32_t key);
// Brings the queue pair into the error state: all that is posted completes as flushed.
Result<void> to_error(const Symbols& symbols, const Qp& qp);

}  // namespace scela::channel::verbs
