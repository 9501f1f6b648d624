// The state behind the C functions of pmi/client/include/pmi.h: one object per process, used by the
// files that implement them. Its members are not locked: PMI_Init and PMI_Finalize, which assign
// them, may not run beside other calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pmi/client/connection.h"
#include "pmi/client/own_pairs.h"

namespace scela::pmi::client {

// The name of a lone process's key-value space. It stays valid if the process starts a launcher
// later.
inline constexpr char kOwnSpace[] = "kvs_alone";

struct Library {
  bool initialized = false;              // PMI_Init has succeeded, PMI_Finalize not yet
  std::optional<Connection> connection;  // absent if the process is alone
  OwnPairs own_space;                    // the pairs of a process that is alone
  bool has_own_launcher = false;         // this process started its launcher
  std::string kvsname = kOwnSpace;
  // The largest sizes in bytes, with the terminating zero. PMI_Init takes them from the server.
  int name_max = 256;
  int key_max = 64;
  int value_max = 1024;
  // The ranks of this node in ascending order; std::nullopt until a call has asked for them.
  std::optional<std::vector<int>> clique;
};

// Returns the object of this process.
Library& library();

}  // namespace scela::pmi::client
