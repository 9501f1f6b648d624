// Lines of a report to the root, cut between lines into pieces of at most kMaxPiece bytes. Traces
// and usage counters are collected this way. Values only.
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
  // `line` includes its newline and has at most kMaxPiece bytes.
  void add(std::string_view line) {
    if (current_.size() + line.size() > kMaxPiece) cut();
    current_ += line;
  }
  bool empty() const { return done_.empty() && current_.empty(); }
  // Returns at least one piece, which may be empty.
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
