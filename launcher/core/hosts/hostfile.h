// Parses host lists as the user writes them: -w SPEC, host files and -x SPEC.
// launcher/plan/job_hosts.cpp, launcher/spawn/spawn_plan.cpp and launcher/core/map/rankfile.cpp use
// it.
//
//   SPEC      a,b:2,node[1-4]:8            name or node set, optional slots
//             me@a,node[1-4]:2222            a login's user; a port of sshd, 1024 to 65535
//             a:slots=2000:port=22           any number of slots, any port
//   file      one SPEC a line, or "SPEC [slots=n] [max_slots=m] [port=p]"; # starts a comment
//
// A SPEC may have several lines, one for each -w and each source. Each line is evaluated alone, so
// that an operator applies to the names of its own line, and their hosts are united.
//
// User and port are parts of a host's name, so that two logins of one machine are two hosts.
//
// A host that is named twice is one host, and its stated slots add up (as in mpiexec). The order is
// that of the first mention. All functions are pure; the text and the name of a file are
// parameters. Errors have kind usage and name "file:line" and the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/nodeset/nodeset.h"
#include "common/core/result.h"

namespace scela {

// A host that the user names. A slot is room for one rank.
struct HostEntry {
  std::string name;
  std::optional<std::uint32_t> slots;  // absent: not stated
  friend bool operator==(const HostEntry&, const HostEntry&) = default;
};

// The parts of a host's name: user@host:port, or user@[address]:port. A port below 1024 is written
// host:port=22 there, because host:22 has 22 slots.
struct LoginParts {
  std::string_view user;  // empty: not stated
  std::string_view host;  // without brackets
  std::optional<std::uint16_t> port;
};
LoginParts parts_of_login(std::string_view name);

// Returns a SPEC of this one host.
std::string host_text(const HostEntry& host);

// Reads a file of hosts, or standard input for "-".
using HostSourceReader = std::function<Result<std::string>(const std::string& name)>;
// Returns a SPEC in which the elements "^FILE" and "-" are replaced by the hosts that the file, or
// standard input, names. The hosts of each of them are a line of the result. Standard input has
// host lists, separated by blanks or ends of lines.
Result<std::string> with_sources(std::string_view spec, const HostSourceReader& read);

inline constexpr std::uint32_t kMaxSlots = 1u << 20;  // of one host, against typing errors

// Parses a SPEC, the text of -w. `where` names its source in errors ("--hosts", "SCELA_HOSTS").
// Returns the hosts, at least one. Returns an error if there are more than `most` hosts, before
// they are expanded.
Result<std::vector<HostEntry>> parse_hosts(std::string_view spec,
                                           std::string_view where = "--hosts",
                                           std::size_t most = NodeSet::kMaxNodes);
// Returns the names of a SPEC's hosts as --nodeset shows them: with user and port, without slots.
Result<NodeSet> names_of_hosts(std::string_view spec);
// Parses the text of a host file, and returns its hosts, at least one. `file_name` is for errors.
Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, std::string_view file_name);
// Returns the hosts without those that -x names. `spec` is the text of -x, a SPEC. Its slots are
// ignored. A name without a user leaves out the host with any user, and a name without a port
// leaves it out with any port. Returns an error if no host is left. Names that are not in the list
// are no error.
Result<std::vector<HostEntry>> exclude_hosts(std::vector<HostEntry> hosts, std::string_view spec);

}  // namespace scela
