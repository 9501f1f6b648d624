// The status that `scela-hca --status` prints: an engine's counters, as tables for people or as
// JSON. Server fills it in; the functions keep no state, so any thread may call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hca/core/model/accounts.h"

namespace scela::hca {

struct EngineStatus {
  pid_t pid = 0;
  std::string version;
  // Counters of the loop.
  std::uint64_t runs = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t doorbells = 0;  // sleeps that a doorbell has ended
  // True if no process may run on the engine's processors, and other threads hardly do.
  bool alone = false;
  // Copies of memory that the machine has made, and the bytes that they moved.
  std::uint64_t transfers = 0;
  std::uint64_t transferred_bytes = 0;
  std::uint16_t lid = 0;  // its first port's
  // Facts about other nodes, by name. Empty if there are no other nodes: the LID was then drawn at
  // random.
  std::vector<std::pair<std::string, std::string>> fabric;
  Accounts accounts;
  // One entry for each process, in the order of the accounts.
  struct Who {
    pid_t pid = 0;
    std::string program;
  };
  std::vector<Who> who;
};

// The first returns tables for people, the second one JSON object.
std::string status_text(const EngineStatus& status);
std::string status_json(const EngineStatus& status);

// Returns the name by which the system knows a process, or an empty string if it has gone.
std::string program_of(pid_t pid);

}  // namespace scela::hca
