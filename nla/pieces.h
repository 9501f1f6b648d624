// Lines of a report to the root, cut between lines into pieces of at most kMaxPiece bytes.
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
  // Of at most kMaxPiece bytes, with its end.
  void add(std::string_view line) {
    if (current_.size() + line.size() > kMaxPiece) cut();
    current_ += line;
  }
  bool empty() const { return done_.empty() && current_.empty(); }
  // At least one, which may be empty.
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
