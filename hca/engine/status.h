// What `scela-hca --status` prints: an engine's accounts, as tables for people or as JSON.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hca/core/accounts.h"

namespace scela::hca {

struct EngineStatus {
  pid_t pid = 0;
  std::string version;
  // Of the loop.
  std::uint64_t runs = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t bells = 0;  // sleeps that a process's bell has ended
  bool alone = false;       // no process may run on its processors, and others hardly do
  // Of the machine: copies of memory, and what they moved.
  std::uint64_t transfers = 0;
  std::uint64_t transferred_bytes = 0;
  std::uint16_t lid = 0;  // of its first port
  // Of other nodes, by name; empty: there are none, and the LID was drawn at random.
  std::vector<std::pair<std::string, std::string>> fabric;
  Accounts accounts;
  // Of each process, in the order of the accounts.
  struct Who {
    pid_t pid = 0;
    std::string program;
  };
  std::vector<Who> who;
};

std::string status_text(const EngineStatus& status);
std::string status_json(const EngineStatus& status);

// By which the system knows a process; empty: it has gone.
std::string program_of(pid_t pid);

}  // namespace scela::hca
