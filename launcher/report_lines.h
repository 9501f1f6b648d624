// What agents send at the end, in pieces: whole lines of each node.
//
// A line longer than kMostLine is left out: agents write none, and a node that was taken over must
// not fill the launcher's memory with one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace scela {

inline constexpr std::size_t kMostLine = std::size_t{64} * 1024;

class ReportLines {
 public:
  // take(line) for each that is whole now. Pieces of one node come in order.
  template <class Take>
  void add(std::uint32_t node, std::string_view piece, const Take& take) {
    Unfinished& line = unfinished_[node];
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos;) {
      line.append(piece.substr(0, end));
      if (!line.too_long) take(std::string_view(line.text));
      line = {};
      piece.remove_prefix(end + 1);
    }
    line.append(piece);
  }

 private:
  struct Unfinished {
    std::string text;
    bool too_long = false;
    void append(std::string_view more) {
      too_long = too_long || text.size() + more.size() > kMostLine;
      if (too_long)
        text = {};
      else
        text += more;
    }
  };
  std::map<std::uint32_t, Unfinished> unfinished_;  // by node
};

}  // namespace scela
