// Finds out what a device can do by doing it. A capability bit may be wrong: a device may show XRC
// although the kernel or the firmware has it switched off.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "comm-channel/verbs/symbols.h"
#include "comm-channel/verbs/verbs_handles.h"

namespace scela::channel::verbs {

enum class Mode : unsigned char {
  none,  // not viable: Capability::reason
  rc,    // RC with an SRQ; one per process
  xrc    // one queue pair per node
};
// The executor of management tasks (management_queue.h). `none`: there are no tasks. `thread`: a
// thread of this process. `engine`: the device's engine.
enum class Executor : unsigned char { none, thread, engine };

// An active port of the device.
struct Port {
  std::uint8_t number = 1;  // the device's, from 1
  std::uint16_t lid = 0;
  std::uint8_t gid_index = 0;
  ibv_gid gid{};
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint32_t longest_message = 0;  // bytes of one request
  bool by_gid = false;                // Ethernet, which has no LIDs; adapter
};

// The device can have so many of these at a time. `shared_queues` are shared receive queues, and
// `shared_requests` are requests in one of them. `requests` are those in a queue pair, and
// `completions` those in a queue. `region_bytes` is the size of the largest region.
struct Limits {
  std::uint32_t queue_pairs = 0, shared_queues = 0, shared_requests = 0;
  std::uint32_t requests = 0, completions = 0, regions = 0;
  std::uint32_t reads = 0;  // RDMA reads at a time, either way
  std::uint64_t region_bytes = 0;
};

// Describes what a device can do.
struct Capability {
  Mode mode = Mode::none;
  std::string reason;    // why the mode is no better
  bool open_qp = false;  // xrc: a node's processes share a target
  Executor executor = Executor::none;
  const TaskSymbols* tasks = nullptr;  // null: Executor::none
  Limits limits;
  std::vector<Port> ports;  // the active ones
  std::string device, library;

  // Returns for example "scela_hca0 of libscela-ibverbs.so.1: XRC with ibv_open_qp, 2 ports, tasks
  // executed by its engine".
  std::string describe() const;
};

// Returns the most bytes that one request may move by each of the ports.
std::uint64_t longest_message(const std::vector<Port>& ports);

// Tries the device. A device that is not viable is no error: its mode is Mode::none, and `reason`
// says why.
Capability probe(const Symbols& symbols, const Context& context);

}  // namespace scela::channel::verbs
