// Wording that what is told of ranks and of hosts has in common. Values only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/core/report.h"

namespace scela {

inline constexpr std::string_view kProgramName = "scela-run: ";
// Characters of a message that a rank or node may have written.
inline constexpr std::size_t kMostMessage = 300;

// Messages come from ranks and nodes: one line of at most `most` bytes ("..." tells of more),
// without control characters of either set (C0, C1) that a terminal would obey. Bytes that are no
// UTF-8 become '?', as those do.
std::string printable(std::string_view text, std::size_t most = kMostMessage);
// The names as a node set, or side by side where they do not fold.
std::string folded(const std::vector<std::string>& names);
// Why the job as a whole ended as it did, one line; empty: it ended well.
std::string cause_of_end(const JobOutcome& job);
// A line for each way in which hosts were missed, with the hosts that have it in common.
std::string missing_text(const std::vector<MissingHost>& missing);

}  // namespace scela
