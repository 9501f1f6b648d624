// The command line of scela-hca. The main function parses it, before it starts any work.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::hca {

// The options of scela-hca (scela-hca(8)).
struct Options {
  // `serve` runs an engine; the others print something and end.
  enum class Action : std::uint8_t { serve, status, help, version };
  Action action = Action::serve;
  std::string socket;  // empty: the usual path
  // If true, the engine ends once no process is connected.
  bool until_idle = false;
  // If true, the status is printed as JSON.
  bool json = false;
  std::string trace;  // path of a trace file; empty: none
  // Number of a descriptor, or -1: the engine writes one byte to it once it serves.
  int ready_fd = -1;
  // Number of a descriptor that the description of the job is read from
  // (hca/engine/net/fabric_record.h).
  int fabric_fd = -1;  // -1: there are no other nodes
  // Number of a listening socket that the starter has made and keeps.
  int listen_fd = -1;  // -1: the engine makes its own socket
};

// Parses `words`, which do not include the program's own name. Returns an error (usage) if a word
// is invalid or two do not go together.
Result<Options> parse_options(std::span<const std::string_view> words);
// Returns the text of --help.
std::string_view help_text();

}  // namespace scela::hca
