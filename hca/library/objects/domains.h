// Protection domains, address handles, XRC domains and completion channels behind the pointers that
// a program holds. Each begins with the public structure of verbs, followed by what this library
// knows. Any thread may use them, within the rules of verbs.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/os/fd.h"
#include "hca/core/wire/layout.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

struct Pd : ibv_pd {
  Pd* of = nullptr;             // a parent domain's protection domain
  std::atomic<int> parents{0};  // domains and address handles made of it
};

struct Ah : ibv_ah {
  Destination destination;  // without the fields that a request sets
};

struct Xrcd : ibv_xrcd {
  std::uint32_t handle = 0;
  Fd file;  // keeps its inode number from being reused
};

struct Channel : ibv_comp_channel {
  std::uint32_t handle = 0;
};

inline Pd& pd_of(ibv_pd* pd) {
  return *static_cast<Pd*>(pd);
}
inline Xrcd& xrcd_of(ibv_xrcd* xrcd) {
  return *static_cast<Xrcd*>(xrcd);
}
inline Channel& channel_of(ibv_comp_channel* channel) {
  return *static_cast<Channel*>(channel);
}
inline Ah& ah_of(ibv_ah* ah) {
  return *static_cast<Ah*>(ah);
}

}  // namespace scela::hca::library
