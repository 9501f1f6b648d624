// What agents send at the end, in pieces: whole lines of each node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace scela {

class ReportLines {
 public:
  // take(line) for each that is whole now. Pieces of one node come in order.
  template <class Take>
  void add(std::uint32_t node, std::string_view piece, const Take& take) {
    std::string& rest = partial_[node];
    rest += piece;
    std::size_t at = 0;
    for (std::size_t end; (end = rest.find('\n', at)) != std::string::npos; at = end + 1)
      take(std::string_view(rest).substr(at, end - at));
    rest.erase(0, at);
  }

 private:
  std::map<std::uint32_t, std::string> partial_;  // by node: an unfinished line
};

}  // namespace scela
