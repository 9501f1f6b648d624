// The wording that reports of ranks and reports of hosts share. The launcher's reports, logs and
// messages use it. All functions are pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/core/report/job_report.h"

namespace scela {

// The text with which each line for the user begins.
inline constexpr std::string_view kProgramName = "scela-run: ";
// Maximum length in bytes of a message that a rank or node may have written.
inline constexpr std::size_t kMaxMessage = 300;
// The most bytes of an error or a warning of scela-run itself, which may name many hosts.
inline constexpr std::size_t kMaxOwnText = 10'000;

// Returns a message of a rank or a node as text that is safe to print: one line of at most `most`
// bytes, and "..." after a cut. Newlines, tabs and carriage returns become blanks. Other characters
// that a terminal would obey (control characters, changes of direction) become '?'. So do bytes
// that are not valid UTF-8.
std::string printable(std::string_view text, std::size_t most = kMaxMessage);
// Returns the names as one node set ("node[1-4]"), or separated by commas if they do not fold.
std::string folded(const std::vector<std::string>& names);
// Returns one line, without newline, that says why the job as a whole ended. It is empty if the job
// succeeded.
std::string cause_of_end(const JobOutcome& job);
// Returns JobOutcome::not_found_hint in brackets, after a blank, if the outcome is that a program
// was not found. Otherwise returns "".
std::string hint_text(const JobOutcome& job, const RankOutcome& outcome);
// Returns one line for each cause of missing hosts, with all hosts that have this cause. The number
// of causes is limited; other hosts share one line. Every line begins with kProgramName and ends
// with a newline.
std::string missing_text(const std::vector<MissingHost>& missing);

}  // namespace scela
