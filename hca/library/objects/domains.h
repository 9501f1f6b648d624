// Protection domains, address handles, XRC domains and completion channels behind the pointers that
// a program holds. Each begins with the public structure of verbs, followed by what this library
// knows. Any thread may use them, within the rules of verbs.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/os/fd.h"
#include "hca/core/wire/shared_layout.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

// A protection domain.
struct Pd : ibv_pd {
  // Only for a parent domain: the protection domain that it was made of.
  Pd* of = nullptr;
  // Parent domains and address handles that were made of this one.
  std::atomic<int> parents{0};
};

// An address handle.
struct Ah : ibv_ah {
  // The destination, without the fields that a request sets (QP number and Q_Key).
  Destination destination;
};

// An XRC domain. `handle` is the number by which the engine knows it.
struct Xrcd : ibv_xrcd {
  std::uint32_t handle = 0;
  // The file of the domain, kept open so that its inode number is not used again.
  Fd file;
};

// A completion channel. `handle` is the number by which the engine knows it.
struct Channel : ibv_comp_channel {
  std::uint32_t handle = 0;
};

// Return the object behind a pointer that this library has given the program.
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
