// Assembles the reports that agents send at the end, in pieces, into whole lines per node.
// RankAccounts and TraceFile use it, in the session's one thread.
//
// A line longer than kMaxLine bytes is dropped. Agents write no such line, and a compromised node
// must not fill the launcher's memory with one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace scela {

inline constexpr std::size_t kMaxLine = std::size_t{64} * 1024;

class ReportLines {
 public:
  // Calls take(line) for each line that is now complete. The pieces of one node must come in order.
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
      too_long = too_long || text.size() + more.size() > kMaxLine;
      if (too_long)
        text = {};
      else
        text += more;
    }
  };
  std::map<std::uint32_t, Unfinished> unfinished_;  // by node
};

}  // namespace scela
