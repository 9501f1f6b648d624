// Serves a process that was started without a launcher and calls for one (pmi/protocol/singinit.h):
// parses its command line and makes that of its job. launcher/command.cpp uses it. All functions
// are pure, except that narrow_to_singleton() changes its argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"

namespace scela {

// The word with which scela-run starts itself as the rank that represents the process; a port
// follows. It is not an option: it has no meaning in other places.
inline constexpr std::string_view kStandFor = "-pmi_stand_for";

struct SingletonCall {
  std::vector<std::string> options;  // options before; MPICH's may say -v
  std::string port;
  std::uint32_t process = 0;  // as the caller says; MPICH's: our own
};

// Parses argv[1..]. Returns std::nullopt if it is no such call. Returns an error (kind usage) if it
// is a call that cannot be served.
Result<std::optional<SingletonCall>> singleton_call(const std::vector<std::string>& words);

// Returns the command line of the job. Its one rank represents the process.
std::vector<std::string> singleton_words(const SingletonCall& call, const std::string& self);

// Resets the options that variables and the configuration set for other jobs: hosts, ranks and
// input. The rank then runs on this machine. If no universe size is given, it is infinite, as under
// Hydra.
void narrow_to_singleton(Options& options);

}  // namespace scela
