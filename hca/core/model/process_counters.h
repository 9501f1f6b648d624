// Counters of what processes hold and have done: the figures of `scela-hca --status`.
//
// The interpreter's thread fills them. Holdings are counted on request, traffic as it happens. A
// process is one open device of a program (ProcessId).
#pragma once

#include <cstdint>
#include <vector>

#include "hca/core/model/host.h"

namespace scela::hca {

// The work since the process attached.
struct Traffic {
  // Requests of send queues, including tasks. A posted request that was neither executed nor failed
  // still waits, is held, or was destroyed with its queue.
  std::uint64_t posted = 0;
  std::uint64_t executed = 0;  // with success
  std::uint64_t failed = 0;    // including flushed requests
  // The bytes that executed requests have sent, written or read.
  std::uint64_t sent_bytes = 0;
  std::uint64_t rnr_retries = 0;  // the receiver was not ready
  std::uint64_t retries = 0;      // no answer arrived in time
  std::uint64_t received = 0;     // messages that took a receive request
  std::uint64_t received_bytes = 0;
  std::uint64_t completions = 0;
  std::uint64_t wakes = 0;   // of threads that slept in a poll
  std::uint64_t events = 0;  // of channels, and asynchronous ones

  Traffic& operator+=(const Traffic& other);
};

// The objects of a process now, by their kind, and bytes.
struct Holdings {
  // Queue pairs. A queue pair that several processes hold counts for each of them.
  std::uint64_t rc = 0, uc = 0, ud = 0, xrc_send = 0, xrc_recv = 0;
  // The queue pairs of these that are ready to receive from their peer.
  std::uint64_t connections = 0;
  // The queue pairs of these that are ready to send as well.
  std::uint64_t sending = 0;
  std::uint64_t peer_nodes = 0;        // other nodes they are connected to
  std::uint64_t queue_pair_bytes = 0;  // of the queue pairs' rings
  std::uint64_t srqs = 0;
  std::uint64_t srq_bytes = 0;  // of the SRQs' rings
  // Requests that were posted to SRQs and not taken by a message.
  std::uint64_t srq_requests = 0;
  // Bytes of the buffers that those requests name. If an SRQ has more than 1024 requests, the
  // others are assumed to be like the first.
  std::uint64_t srq_buffer_bytes = 0;
  std::uint64_t regions = 0;
  std::uint64_t registered_bytes = 0;
  std::uint64_t cqs = 0;
  std::uint64_t cq_bytes = 0;  // of the CQs' rings
  std::uint64_t channels = 0;
  // The bytes that the engine keeps until the process takes them.
  std::uint64_t kept_bytes = 0;
  // The bytes of the pools, and of the chunks that hold all rings. The engine's shell fills this
  // in.
  std::uint64_t shared_bytes = 0;
};

// The figures of one process.
struct ProcessCounters {
  ProcessId process = 0;
  Holdings holdings;
  Traffic traffic;
};

// The figures of all processes and of the node. `processes` is in the order of their ids.
struct NodeCounters {
  std::vector<ProcessCounters> processes;
  // The totals of the node. Its traffic includes that of processes that have gone, and each queue
  // pair counts once.
  Holdings holdings;
  Traffic traffic;
};

class ObjectTables;  // object_tables.h

// Counts the holdings of all objects now, and adds up the traffic. Holdings::shared_bytes stays 0.
NodeCounters counters_of(const ObjectTables& objects);

}  // namespace scela::hca
