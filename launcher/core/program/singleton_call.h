// Serves a process that was started without a launcher (an MPI singleton) and starts scela-run to
// get a PMI (pmi/protocol/singinit.h): parses its command line and makes that of its job.
// launcher/command.cpp uses it. All functions are pure, except that narrow_to_singleton() changes
// its argument.
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
inline constexpr std::string_view kSingletonRank = "-pmi_stand_for";

// The arguments of such a call: -pmi_args PORT INTERFACE KEY PID.
struct SingletonCall {
  // The options in front of the call; MPICH's may have -v.
  std::vector<std::string> options;
  // The TCP port on which the process waits for its PMI.
  std::string port;
  // The id of the process, as the caller states it.
  std::uint32_t process = 0;
};

// Parses `words`, argv[1..] of scela-run. Returns std::nullopt if they are no such call. Returns an
// error (kind usage) if they are a call that cannot be served.
Result<std::optional<SingletonCall>> singleton_call(const std::vector<std::string>& words);

// Returns the command line (argv[1..]) of the job that serves the call. Its one rank is `self`, the
// path of scela-run, which represents the process (kSingletonRank).
std::vector<std::string> singleton_words(const SingletonCall& call, const std::string& self);

// Resets the options that variables and the configuration set for other jobs: hosts, ranks and
// input. The rank then runs on this machine. If no universe size is given, it is infinite, as under
// Hydra.
void narrow_to_singleton(Options& options);

}  // namespace scela
