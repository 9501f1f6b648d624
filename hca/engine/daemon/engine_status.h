// The status that `scela-hca --status` prints: an engine's counters, as tables for people or as
// JSON. Server fills it in; the functions keep no state, so any thread may call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hca/core/model/process_counters.h"

namespace scela::hca {

// The figures of one engine since it began.
struct EngineStatus {
  pid_t pid = 0;
  std::string version;
  // Runs of the interpreter, and sleeps of the loop.
  std::uint64_t runs = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t doorbells = 0;  // sleeps that a doorbell has ended
  // True if the engine is alone on its processors: no process may run there, and other threads
  // hardly do.
  bool alone = false;
  // Copies of processes' memory, and the bytes that they moved.
  std::uint64_t transfers = 0;
  std::uint64_t transferred_bytes = 0;
  std::uint16_t lid = 0;  // its first port's
  // Facts about other nodes, by name. Empty if there are no other nodes: the LID was then drawn at
  // random.
  std::vector<std::pair<std::string, std::string>> fabric;
  NodeCounters counters;
  // The number and the name of a process.
  struct Who {
    pid_t pid = 0;
    std::string program;
  };
  // One entry for each process, in the order of `counters.processes`.
  std::vector<Who> who;
};

// Return the status as tables for people, or as one JSON object.
std::string status_text(const EngineStatus& status);
std::string status_json(const EngineStatus& status);

// Returns the name by which the system knows the process (/proc/PID/comm), or an empty string if it
// has gone.
std::string program_of(pid_t pid);

}  // namespace scela::hca
