// What a device can do, found out by doing it: what a bit says may not be so (a device that shows
// XRC behind a kernel, or a firmware, that has it switched off).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "comm-channel/verbs/handles.h"
#include "comm-channel/verbs/symbols.h"

namespace scela::channel::verbs {

enum class Mode : unsigned char {
  none,  // not viable: Capability::reason
  rc,    // RC queue pairs with a shared receive queue, one per process
  xrc    // one queue pair per node
};
// Who executes management tasks: nobody, a thread of this process, the device's engine.
enum class Executor : unsigned char { none, thread, engine };

struct Port {
  std::uint8_t number = 1;
  std::uint16_t lid = 0;
  std::uint8_t gid_index = 0;
  ibv_gid gid{};
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint32_t longest_message = 0;  // bytes of one request
  bool by_gid = false;  // addressed by the GID: Ethernet, which has no LIDs, and the adapter
};

struct Limits {
  std::uint32_t queue_pairs = 0, shared_queues = 0, shared_requests = 0;
  std::uint32_t requests = 0, completions = 0, regions = 0;
  std::uint32_t reads = 0;  // RDMA reads that a queue pair may have under way, and serve
  std::uint64_t region_bytes = 0;
};

struct Capability {
  Mode mode = Mode::none;
  std::string reason;    // of mode none; of rc: why not xrc; of xrc: why not open_qp
  bool open_qp = false;  // of mode xrc: ibv_open_qp works, so a node's processes share a target
  Executor executor = Executor::none;
  const TaskSymbols* tasks = nullptr;  // none: Executor::none
  Limits limits;
  std::vector<Port> ports;  // the active ones
  std::string device, library;

  // "scela_hca0 of libscela-ibverbs.so.1: XRC with ibv_open_qp, 2 ports, tasks by its engine"
  std::string describe() const;
};

// Bytes that one request may move, by whichever port.
std::uint64_t longest_message(const std::vector<Port>& ports);

Capability probe(const Symbols& symbols, const Context& context);

}  // namespace scela::channel::verbs
