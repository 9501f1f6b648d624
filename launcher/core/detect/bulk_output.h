// Chooses lines for messages from what a bulk starter and its agents have written.
// launcher/hosts/bulk/bulk_start.cpp keeps the text, and makes it safe to print. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scela {

// The most lines that are shown. More of them would hide the error above them.
inline constexpr std::size_t kMaxBulkLines = 10;

// Returns the last lines of the text, without empty ones and without those that tell the user
// nothing.
std::vector<std::string> bulk_lines(std::string_view text);

// Returns the line that says most about a failure, or "". It is the last one, but for lines that
// only tell the exit status of an agent: the agent itself has said more.
std::string telling_line(const std::vector<std::string>& lines);

// Returns what the user can do if agents were not started for this reason: `why` has what the
// starter has said.
std::string bulk_advice(std::string_view why);

// Returns the line with the starter's name before it, if the line does not begin with it:
// "srun: error: ...", "flux-exec: Error: ...".
std::string named_line(std::string_view command, std::string_view line);

}  // namespace scela
