// The command line of scela-hca. The main function parses it, before it starts any work.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::hca {

struct Options {
  enum class Action : std::uint8_t { serve, status, help, version };
  Action action = Action::serve;
  std::string socket;  // empty: the usual path
  // If true, the engine ends once no process is connected.
  bool until_idle = false;
  // If true, the status is printed as JSON.
  bool json = false;
  std::string trace;  // empty: none
  // The engine writes one byte to it once it serves. -1: none.
  int ready_fd = -1;
  // It holds the record of the job (hca/engine/net/fabric_record.h).
  int fabric_fd = -1;  // -1: there are no other nodes
  // A listening socket that the starter has made and keeps.
  int listen_fd = -1;  // -1: the engine makes its own socket
};

// Parses `words`, which do not include the program's own name. Returns an error if a word is
// invalid.
Result<Options> parse_options(std::span<const std::string_view> words);
std::string_view help_text();

}  // namespace scela::hca
