// Translates the command line of a peer (mpiexec, srun, pdsh and so on) into that of scela-run, by
// the table of the peer's options. launcher/command.cpp calls it if scela-run was started under a
// peer's name, or with --as NAME. The functions are pure, except that host files are read by the
// reader that the caller gives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/compat/peer_call.h"
#include "launcher/core/compat/peer_tool.h"
#include "launcher/core/hosts/hostfile.h"

namespace scela {

// A command line of a peer.
struct PeerCommand {
  std::string name;                // a name of peer_names()
  std::vector<std::string> words;  // argv[1..], without --as NAME
};

// Returns the command if the program's name (argv[0]; a path is allowed) is a peer's, or if the
// words begin with --as NAME or --as=NAME. Returns std::nullopt if neither is the case. Returns an
// error (kind usage) if --as names no peer.
Result<std::optional<PeerCommand>> peer_command(std::string_view program,
                                                std::vector<std::string> words);

// The request of a peer's command line.
struct PeerTranslation {
  // job: `words` are a command line of scela-run. help: the text of peer_help() is wanted.
  // gather: the lines of standard input are gathered by host, as dshbak does.
  enum class Kind { job, help, gather };
  Kind kind = Kind::job;
  Peer peer = Peer::hydra;
  std::vector<std::string> words = {};  // argv[1..] of scela-run
  std::vector<std::string> notes = {};  // warnings for the user
  bool coalesces = false;               // gather: hosts with the same text share a header
};

// Translates the command. `variables` is the whole environment, and `read` reads a host file.
// Returns an error (kind usage) that names the option as it was typed, if an option is unknown or
// refused, lacks its value, or has a value that cannot be translated.
Result<PeerTranslation> translate(const PeerCommand& command, const PeerVariables& variables,
                                  const HostSourceReader& read);

}  // namespace scela
