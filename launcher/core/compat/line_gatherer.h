// Gathers lines of the form "host: text" by host, as dshbak does. launcher/command.cpp feeds it
// standard input if scela-run is called as dshbak. One thread uses an object, and nothing blocks.
// All text is in memory: the caller bounds its input.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace scela {

class LineGatherer {
 public:
  // Takes one line without its newline. A line without "host: " belongs to no host and is dropped.
  // Blanks before the host, as aligned labels have them, are left out.
  void add(std::string_view line);
  // Returns the text of each host below a header with its name, in the order of first lines. If
  // `coalesces`, hosts with the same text share a header, in which their names are folded.
  std::string text(bool coalesces) const;

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace scela
