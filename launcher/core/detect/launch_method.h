// The ways to start agents that --launch names. launcher/core/options and launch_choice.h use it.
#pragma once

#include <cstdint>

namespace scela {

// Says how agents are started. On this machine itself they are started directly, but by program.
enum class LaunchMethod : std::uint8_t {
  automatic,  // by the command of the scheduler if this is its job, else over ssh
  local,      // all of them on this machine
  ssh,        // over ssh
  program,    // by a command such as rsh
  bulk,       // all of them by one command (bulk_command.h)
};

}  // namespace scela
