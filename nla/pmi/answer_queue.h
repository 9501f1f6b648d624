// The answers that a rank has not taken yet.
//
// RankConnection fills such a queue, and the rank's socket or its memory empties it. Values only,
// for one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <utility>

#include "common/core/chunk.h"

namespace scela::nla {

class AnswerQueue {
 public:
  // Appends bytes for the rank.
  void add(Chunk chunk) {
    bytes_ += chunk.size();
    chunks_.push_back(std::move(chunk));
  }
  bool empty() const { return chunks_.empty(); }
  // Returns the number of bytes that are left, of all chunks.
  std::size_t bytes() const { return bytes_; }
  // Returns what is left of the first chunk. The queue must not be empty.
  std::string_view front() const { return chunks_.front().view().substr(taken_); }
  // Removes the first `bytes` bytes, at most front().size(): the rank has got them.
  void take(std::size_t bytes) {
    bytes_ -= bytes;
    taken_ += bytes;
    if (taken_ < chunks_.front().size()) return;
    chunks_.pop_front();
    taken_ = 0;
  }
  // Drops all bytes.
  void clear() {
    chunks_.clear();
    bytes_ = taken_ = 0;
  }

 private:
  std::deque<Chunk> chunks_;
  std::size_t bytes_ = 0;
  std::size_t taken_ = 0;  // bytes of the first chunk
};

}  // namespace scela::nla
