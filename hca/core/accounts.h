// What processes have and have done: the figures of `scela-hca --status`.
//
// What they have is counted when somebody asks, what they do as it happens.
#pragma once

#include <cstdint>
#include <vector>

#include "hca/core/host.h"

namespace scela::hca {

// What has happened since the process came.
struct Traffic {
  // Requests of send queues, tasks among them. Of those posted and neither executed nor failed some
  // wait or are held; others went with their queue.
  std::uint64_t posted = 0;
  std::uint64_t executed = 0;
  std::uint64_t failed = 0;       // those that were flushed as well
  std::uint64_t sent_bytes = 0;   // of requests that were executed: sent, written, read
  std::uint64_t rnr_retries = 0;  // the receiver was not ready
  std::uint64_t retries = 0;      // nobody answered
  std::uint64_t received = 0;     // messages that took a receive request
  std::uint64_t received_bytes = 0;
  std::uint64_t completions = 0;
  std::uint64_t wakes = 0;   // of programs that slept until a completion
  std::uint64_t events = 0;  // of channels, and asynchronous ones

  Traffic& operator+=(const Traffic& other);
};

struct Holdings {
  // Queue pairs. One that several processes hold is counted with each of them.
  std::uint64_t rc = 0, uc = 0, ud = 0, xrc_send = 0, xrc_recv = 0;
  std::uint64_t connections = 0;       // of them, those that are ready to receive from their peer
  std::uint64_t sending = 0;           // and those that are ready to send to it as well
  std::uint64_t peer_nodes = 0;        // other nodes that they lead to
  std::uint64_t queue_pair_bytes = 0;  // of their rings
  std::uint64_t srqs = 0;
  std::uint64_t srq_bytes = 0;         // of their rings
  std::uint64_t srq_requests = 0;      // posted to them and not taken
  std::uint64_t srq_buffer_bytes = 0;  // that those requests name
  std::uint64_t regions = 0;
  std::uint64_t registered_bytes = 0;
  std::uint64_t cqs = 0;
  std::uint64_t cq_bytes = 0;  // of their rings
  std::uint64_t channels = 0;
  std::uint64_t kept_bytes = 0;    // that the engine keeps until the process takes them
  std::uint64_t shared_bytes = 0;  // of the chunks that hold all rings: the shell knows
};

struct Account {
  ProcessId process = 0;
  Holdings holdings;
  Traffic traffic;
};

struct Accounts {
  std::vector<Account> processes;
  // Of the node: those that have gone count in its traffic, and a queue pair counts once.
  Holdings holdings;
  Traffic traffic;
};

}  // namespace scela::hca
