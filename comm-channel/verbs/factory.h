// The interface of this folder for the channel: a device of some library, what it can do, and
// handles.
//
//   auto opened = open_device({});                 // by the environment, see symbols.h
//   opened->capability.mode                        // xrc or rc; opened is an error if it is none
//   auto pd = alloc_pd(*opened->symbols, opened->context);
#pragma once

#include <array>
#include <span>
#include <string>

#include "comm-channel/verbs/capability.h"
#include "comm-channel/verbs/management_queue.h"
#include "comm-channel/verbs/queue_pairs.h"
#include "comm-channel/verbs/registrations.h"
#include "comm-channel/verbs/symbols.h"
#include "comm-channel/verbs/verbs_handles.h"

namespace scela::channel::verbs {

struct Choice {
  std::string library;  // system, scela, auto, path or empty
  std::string device;   // a name or empty
};

// An open device, and what it can do.
struct Device {
  const Symbols* symbols = nullptr;  // of its library, for good
  Context context;
  Capability capability;
};

// Returns the first viable device of the first library that has one. The system's library comes
// first, and is skipped if none of its devices is viable, for example has no active port.
// libscela-ibverbs is next. The error is "not viable: " and each reason.
Result<Device> open_device(const Choice& choice);

// These are the two steps of open_device(), with the parts of Choice. Between them, the adapter is
// told of the job if it needs that.
Result<const Symbols*> choose_library(const std::string& library);
Result<Device> open_device_of(const Symbols& symbols, const std::string& device);

// Engines of the adapter exchange data with those of other nodes if they know of the job
// (scela/hca_job.h). Under scela-run the agent tells them. Otherwise every rank does so before it
// opens the device, with the same key: one rank draws it, the others get it by the bootstrap. Node
// numbers are the bootstrap's. needs_job() returns true in that case. draw() fills `secret` with
// random bytes, and join_job() tells the adapter.
using JobKey = std::array<unsigned char, SCELA_HCA_KEY_BYTES>;
bool needs_job(const Symbols& symbols);
Result<void> draw(std::span<unsigned char> secret);
Result<void> join_job(const Symbols& symbols, const std::string& job, const JobKey& key, int node,
                      int nodes);

}  // namespace scela::channel::verbs
