// The state behind the C functions of pmi.h: one per process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pmi/client/connection.h"
#include "pmi/client/own_pairs.h"

namespace scela::pmi::client {

// What the space of a process that is alone is called, also when it has a launcher at last.
inline constexpr char kOwnSpace[] = "kvs_alone";

struct Library {
  bool initialized = false;
  std::optional<Connection> connection;  // none: alone, one rank with a space of its own
  OwnPairs own_space;
  bool has_own_launcher = false;  // the connection is to one that this process has started
  std::string kvsname = kOwnSpace;
  int name_max = 256;  // with the terminating zero, as the others
  int key_max = 64;
  int value_max = 1024;
  std::optional<std::vector<int>> clique;  // ranks of this node
};

Library& library();

}  // namespace scela::pmi::client
