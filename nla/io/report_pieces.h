// Lines of a report to scela-run, cut between lines into pieces of at most kMaxPiece bytes, so that
// each fits a message. Traces and usage counters are collected this way. Values only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/frame.h"

namespace scela::nla {

class Pieces {
 public:
  // Appends a line. It includes its newline and has at most kMaxPiece bytes.
  void add(std::string_view line) {
    if (current_.size() + line.size() > kMaxPiece) cut();
    current_ += line;
  }
  // Returns true if no line was added since take().
  bool empty() const { return done_.empty() && current_.empty(); }
  // Returns the lines as pieces and forgets them. There is at least one piece, which may be empty.
  std::vector<Chunk> take() {
    if (!current_.empty() || done_.empty()) cut();
    return std::move(done_);
  }

 private:
  void cut() { done_.emplace_back(std::exchange(current_, {})); }
  std::string current_;
  std::vector<Chunk> done_;
};

}  // namespace scela::nla
