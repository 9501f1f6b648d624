// Assembles the reports that agents send at the end of a job, in pieces of any length, into whole
// lines per node. RankCounters and TraceFile use it, in the session's one thread.
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

inline constexpr std::size_t kMaxLine = std::size_t{64} * 1024;  // bytes

// The unfinished lines of all nodes.
class ReportLines {
 public:
  // Adds a piece of the report of node number `node`. Calls take(line), with a std::string_view
  // without the newline, for each line that is now complete. The pieces of one node must come in
  // order.
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
  // The part of a node's last line that has come so far.
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
