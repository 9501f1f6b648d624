// The steps of a queue pair from its birth to where it sends and receives, for RC, UD and both ends
// of XRC.
#pragma once

#include <cstdint>

#include "comm-channel/verbs/capability.h"
#include "comm-channel/verbs/handles.h"

namespace scela::channel::verbs {

// Where the other end is: what its process has told. 32 bytes on the wire are the caller's to cut.
struct Target {
  std::uint16_t lid = 0;
  ibv_gid gid{};
  ibv_mtu mtu = IBV_MTU_1024;  // the other port's; the smaller of both is used
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;  // that it will send
};

struct Patience {
  std::uint8_t timeout = 14;  // 4.096 us * 2^14: 67 ms until a packet is sent again
  std::uint8_t retries = 7;
  // Of a receiver without a buffer: none, since credits promise that there is one. A message that
  // meets none all the same is told as an error (RNR), and counted, not hidden.
  std::uint8_t not_ready_retries = 0;
};

ibv_ah_attr address_of(const Port& from, const Target& to);

// RC, XRC_SEND and XRC_RECV: init, then ready to receive from the target, then ready to send.
// access: of the memory that the other end may reach (IBV_ACCESS_REMOTE_WRITE, ...).
Result<void> to_init(const Symbols& symbols, const Qp& qp, const Port& port, unsigned access);
Result<void> to_receive(const Symbols& symbols, const Qp& qp, const Port& port,
                        const Target& target, std::uint8_t reads);
Result<void> to_send(const Symbols& symbols, const Qp& qp, std::uint32_t first_packet,
                     std::uint8_t reads, const Patience& patience);
// UD, from its birth to the end.
Result<void> ready_datagrams(const Symbols& symbols, const Qp& qp, const Port& port,
                             std::uint32_t key);
// Ends what is posted: completions come flushed.
Result<void> to_error(const Symbols& symbols, const Qp& qp);

}  // namespace scela::channel::verbs
