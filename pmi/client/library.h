// The state behind the C functions of pmi.h: one per process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pmi/client/connection.h"

namespace scela::pmi::client {

struct Library {
  bool initialized = false;
  std::optional<Connection> connection;  // none: alone, one rank with a space of its own
  std::map<std::string, std::string, std::less<>> own_space;
  std::string kvsname = "kvs_alone";
  int name_max = 256;  // with the terminating zero, as the others
  int key_max = 64;
  int value_max = 1024;
  std::optional<std::vector<int>> clique;  // ranks of this node
};

Library& library();

}  // namespace scela::pmi::client
