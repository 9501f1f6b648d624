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
  bool until_idle = false;
  bool json = false;
  std::string trace;  // empty: none
  int ready_fd = -1;
  int fabric_fd = -1;  // -1: there are no other nodes
  int listen_fd = -1;  // -1: the engine makes its own socket
};

// Parses `words`, which do not include the program's own name. Returns an error if a word is
// invalid.
Result<Options> parse_options(std::span<const std::string_view> words);
std::string_view help_text();

}  // namespace scela::hca
