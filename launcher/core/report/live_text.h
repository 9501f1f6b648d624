// Makes the text that a terminal shows while --gather waits for the hosts that still run: the
// groups of hosts with equal output so far. LiveView shows it. The function is pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scela {

// Hosts, or ranks, that have ended and wrote the same output.
struct LiveGroup {
  std::string members;      // their names, folded, with their number
  std::uint64_t count = 0;  // how many they are
  std::string first_line;   // the first line of their output; it may be cut
};

// How much room a terminal has, in characters.
struct LiveRoom {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// Returns a line that says how many of `all` have ended, and a line for each group, the largest
// first. `noun` is "host" or "rank". Each line ends with a newline and is shorter than the terminal
// is wide. The lines take at most half of the terminal's rows; if there are more groups, the last
// line counts those that are left out.
std::string live_text(std::vector<LiveGroup> groups, std::uint64_t all, std::string_view noun,
                      const LiveRoom& room);

}  // namespace scela
