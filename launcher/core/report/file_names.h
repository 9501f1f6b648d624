// Makes the names of the files of --output-dir from the pattern of --output-name. The session uses
// it.
//
// A pattern has these parts: %h is the host, %n its number in the host list, %r the rank, %j the
// job, %s the stream ("out" or "err") and %% a percent sign. Ranks have leading zeros, as in labels. A pattern
// without %s gets ".%s" at its end. All functions are pure.
#pragma once

#include <string>
#include <string_view>

#include "common/core/line_marks.h"
#include "common/core/result.h"

namespace scela {

// The default patterns: the first one for ranks, the second one once per host.
inline constexpr std::string_view kFileOfRank = "rank.%r.%s";
inline constexpr std::string_view kFileOfHost = "%h.%s";

// Returns an error (kind usage) if the pattern is no name of a file, or if two ranks would share a
// file. It must name the rank, or, once per host, the host or its number.
Result<void> check_file_pattern(std::string_view pattern, bool once_per_host);
// Returns the name of a file. Requires that check_file_pattern() accepts the pattern.
std::string expand_file_pattern(std::string_view pattern, const StreamParts& parts);

}  // namespace scela
