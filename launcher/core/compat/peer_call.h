// A peer's command line while it is translated: what was read of it, and scela-run's words that it
// has become so far. launcher/core/compat/peer_words.cpp reads options into it, conversions
// (peer_values.h) add to it, and launcher/core/compat/peer_defaults.h adds what the peer does
// without being told.
//
// One thread uses a call. No function blocks, except in PeerCall::read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/compat/peer_tool.h"
#include "launcher/core/hosts/hostfile.h"

namespace scela {

using PeerVariables = std::vector<std::pair<std::string, std::string>>;

// One program of the command line: the part between two ":" words.
struct PeerProgram {
  std::vector<std::string> options;  // scela-run's words for this program: "--np=4"
  std::vector<std::string> argv;     // the program and its arguments
  // The hosts of -hosts and --host. Their slots are decided after the last option.
  std::vector<HostEntry> hosts;
  std::optional<std::uint32_t> per_node;  // -ppn, -N
};

struct PeerCall {
  Peer peer;
  const PeerVariables& variables;     // of the environment
  const HostSourceReader& read;       // reads a host file
  std::vector<std::string> job = {};  // scela-run's words for the whole job
  std::vector<PeerProgram> programs = std::vector<PeerProgram>(1);
  std::vector<std::string> notes = {};       // warnings for the user
  std::vector<std::string> host_lists = {};  // of srun's -w and -F, in the form of scela-run's -w
  std::vector<std::string> excluded = {};    // of srun's -x
  std::optional<std::pair<std::uint32_t, std::uint32_t>> nodes = {};  // srun's -N: least, most
  std::uint32_t first_node = 0;                                       // srun's -r
  bool coalesces = false;                                             // dshbak -c
  // The words of a file that names the programs (-configfile, --app): as on the command line.
  std::vector<std::string> file_words = {};
  // The pattern of output files that an option gave, with its directory before the last '/'.
  std::optional<std::string> output_pattern = {};

  PeerProgram& program() { return programs.back(); }
  // Returns the value of a variable, or null if the environment has none of this name.
  const std::string* variable(std::string_view name) const;
  // Returns true if the words of the job or of any program have this option of scela-run. `name`
  // has no dashes.
  bool has(std::string_view name) const;
  // Returns true if this program's words have the option.
  static bool has(const PeerProgram& program, std::string_view name);

  // Adds a word of scela-run, "--name=value" or "--name", to those of the job or of the program
  // that is read, as the option's scope wants. Returns an error with `why` and `hint` if scela-run
  // refuses the value.
  Result<void> add(std::string word);
  // Adds the word unless the option is there already.
  Result<void> add_default(std::string_view name, std::string_view value = "");
};

}  // namespace scela
