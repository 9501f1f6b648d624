// The device under test, as the options name it.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "tests/verbs/semantics/semantics_handles.h"

namespace semantics {

struct Settings {
  std::string device;  // empty: the first one
  int gid_index = -1;  // -1: the first not link-local, or else 0
};
Settings& settings();

struct Device {
  Context context;
  ibv_device_attr attr{};
  ibv_port_attr port{};
  ibv_gid gid{};
  int gid_index = 0;
  bool global = false;  // addresses need a GRH
};

inline constexpr uint8_t kPort = 1;

Device open_device();
// Returns the device, which the first use in the process of a case opens.
const Device& device();

bool is_able(unsigned flag);
// These two skip the case if the device has no shared receive queues, or no extended reliable
// connections.
void need_srq();
void need_xrc();

}  // namespace semantics
