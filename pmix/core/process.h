// One line of the table of a job's processes. Agents send such lines to each other and to their
// PMIx servers.
//
// Values and pure functions, for any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"

namespace scela::pmix {

// The state of a rank's process. Some states explain Process::code.
enum class ProcessState : std::uint8_t {
  waiting,      // not started yet
  running,      // has not called PMIx_Init
  connected,    // between PMIx_Init and PMIx_Finalize
  exited,       // code is its exit status
  unfinished,   // exited with 0 while connected
  signaled,     // code is the signal
  aborted,      // asked for the end of the job
  not_started,  // code is errno
  lost,         // its agent or its server is gone
};

// The state of one rank.
struct Process {
  Rank rank = 0;          // by the job's numbers
  std::uint32_t pid = 0;  // on its machine; 0: no process
  ProcessState state = ProcessState::waiting;
  std::int32_t code = 0;  // as the state says, else 0
  friend bool operator==(const Process&, const Process&) = default;
};

// Returns the bytes of a table, for a message.
std::string encode_processes(const std::vector<Process>& processes);
// The inverse of encode_processes(). Returns std::nullopt if the bytes are malformed.
std::optional<std::vector<Process>> decode_processes(std::string_view bytes);

}  // namespace scela::pmix
