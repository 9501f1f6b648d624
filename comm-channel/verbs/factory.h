// What the channel sees of this room: a device of whichever library, what it can do, and handles.
//
//   auto opened = open_device({});                 // by the environment, see symbols.h
//   opened->capability.mode                        // xrc, or rc; none: opened is an error that
//   says why auto pd = alloc_pd(*opened->symbols, opened->context);
#pragma once

#include <array>
#include <span>
#include <string>

#include "comm-channel/verbs/capability.h"
#include "comm-channel/verbs/handles.h"
#include "comm-channel/verbs/management_queue.h"
#include "comm-channel/verbs/queue_pairs.h"
#include "comm-channel/verbs/registrations.h"
#include "comm-channel/verbs/symbols.h"

namespace scela::channel::verbs {

struct Choice {
  std::string library;  // system, scela, auto, or a path; empty: SCELA_CHANNEL_VERBS, else auto
  std::string device;   // its name; empty: SCELA_CHANNEL_DEVICE, else the first that will do
};

struct Device {
  const Symbols* symbols = nullptr;
  Context context;
  Capability capability;
};

// The first device that is viable, of the first library that has one: the system's, which is
// skipped if none of its devices has an active port, then libscela-ibverbs. Error: "not viable: "
// and each reason.
Result<Device> open_device(const Choice& choice);

// The same in two steps, between which the adapter is told of the job if it needs that.
Result<const Symbols*> choose_library(const std::string& library);
Result<Device> open_device_of(const Symbols& symbols, const std::string& device);

// Engines of the adapter speak to those of other nodes if they know of the job (scela/hca_job.h).
// Under scela-run the agent tells them. Elsewhere every rank does, before the device is opened,
// with the same key: one draws it, the others get it by the bootstrap. Nodes are the bootstrap's.
using JobKey = std::array<unsigned char, SCELA_HCA_KEY_BYTES>;
bool needs_job(const Symbols& symbols);
Result<void> draw(std::span<unsigned char> secret);
Result<void> join_job(const Symbols& symbols, const std::string& job, const JobKey& key, int node,
                      int nodes);

}  // namespace scela::channel::verbs
