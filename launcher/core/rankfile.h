// Rankfiles, as Open MPI has them: for each rank its host, and the cores that it is bound to.
//
//   rank 0=node001 slot=0:0-3     cores 0 to 3 of socket 0
//   rank 1=node002 slot=1:*       all cores of socket 1
//   rank 2=node002 slot=4,6-7     cores of the node, in the machine's order
//   rank 3=node001                bound as the other options say
//
// "#" begins a comment. Pure; the text and the file's name are passed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/placement.h"
#include "common/core/result.h"
#include "launcher/core/hostfile.h"
#include "launcher/core/mapping.h"

namespace scela {

struct RankPlace {
  std::string host;
  std::optional<CoreChoice> cores;
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

// By rank. Errors have kind usage and name "file:line"; ranks are 0 to n - 1, each named once.
Result<std::vector<RankPlace>> parse_rankfile(std::string_view text, std::string_view file_name);

// The hosts in the order in which ranks name them, each once, without slots.
Result<std::vector<HostEntry>> hosts_of(const std::vector<RankPlace>& places);

// The ranks of programs, each with its number of ranks (absent only for a single one: all), where
// the file says. Error: a host that is not among `nodes`, or more ranks than have places.
Result<Mapping> map_by_rankfile(const std::vector<RankPlace>& places,
                                const std::vector<MapNode>& nodes,
                                const std::vector<std::optional<std::uint32_t>>& programs);

}  // namespace scela
