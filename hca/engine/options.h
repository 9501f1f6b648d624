// The command line of scela-hca.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::hca {

struct Options {
  enum class Action : std::uint8_t { serve, status, help, version };
  Action action = Action::serve;
  std::string socket;  // empty: the usual place
  bool until_idle = false;
  bool json = false;
  std::string trace;  // empty: none
  int ready_fd = -1;
  int fabric_fd = -1;  // -1: there are no other nodes
  int listen_fd = -1;  // -1: it makes its own socket
};

// `words`: without the program's own name.
Result<Options> parse_options(std::span<const std::string_view> words);
std::string_view help_text();

}  // namespace scela::hca
