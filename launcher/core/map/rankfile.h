// Parses Open MPI's rankfiles, which give each rank a host and the cores that it is bound to.
// launcher/command.cpp, launcher/plan/job_hosts.cpp and launcher/plan/plan.cpp use it.
//
//   rank 0=node001 slot=0:0-3     cores 0 to 3 of socket 0
//   rank 1=node002 slot=1:*       all cores of socket 1
//   rank 2=node002 slot=4,6-7     cores of the node, in the machine's order
//   rank 3=node001                bound as the other options say
//
// "#" begins a comment. All functions are pure; the text and the name of the file are parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/placement/placement.h"
#include "common/core/result.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/map/mapping.h"

namespace scela {

// The place of one rank: its host, and the cores that it is bound to. If `cores` is absent, the
// other options decide.
struct RankPlace {
  std::string host;
  std::optional<CoreChoice> cores;
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

// Parses the text of a rankfile. Returns the places by rank, at least one. Errors have kind usage
// and name "file:line". The ranks must be 0 to n-1, each named once.
Result<std::vector<RankPlace>> parse_rankfile(std::string_view text, std::string_view file_name);

// Returns the hosts in the order in which the ranks name them, each once and without slots. Returns
// an error if a text is not the name of one host.
Result<std::vector<HostEntry>> hosts_of(const std::vector<RankPlace>& places);

// Places the ranks of the programs as the file says, in place of map_ranks(). `nodes` has the hosts
// of the job. `programs` has the number of ranks of each program; a single program may leave it out
// and gets all ranks of the file. Returns an error (kind usage) if a host is not in `nodes`, or if
// there are more ranks than places.
Result<Mapping> map_by_rankfile(const std::vector<RankPlace>& places,
                                const std::vector<MapNode>& nodes,
                                const std::vector<std::optional<std::uint32_t>>& programs);

}  // namespace scela
