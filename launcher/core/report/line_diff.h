// Compares two texts line by line, as diff -u does (--diff). The gatherer uses it.
//
// The function is pure and may be called from any thread. It finds the shortest list of changes
// (E. Myers, An O(ND) Difference Algorithm and Its Variations, 1986). Its cost is bounded: if there
// are more changes than kMaxChanges, or more steps than kMaxSteps, all lines between the common
// beginning and the common end count as changed. Its memory is a small multiple of the texts, and
// at most 4 MiB more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scela {

// The largest number of lines that were added or removed for which the list is the shortest. Memory
// grows with its square.
inline constexpr std::size_t kMaxChanges = 1000;
// The largest number of comparisons of lines, a fraction of a second.
inline constexpr std::uint64_t kMaxSteps = 50'000'000;
// The number of unchanged lines that are shown around a change.
inline constexpr std::size_t kDiffContext = 3;

// Returns the hunks that turn `before` into `after`: "@@ -1,2 +1,3 @@", then lines that begin with
// ' ', '-' or '+'. Returns an empty string if the texts are equal. A last line without its newline
// counts as a whole line.
std::string unified_diff(std::string_view before, std::string_view after);

}  // namespace scela
