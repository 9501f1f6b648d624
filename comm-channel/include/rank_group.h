// The ranks of a communicator, for the messages among them: the user of such a message knows ranks
// by their numbers in the communicator. Communicators make a group, and the channel writes its
// numbers into statuses. The header is not installed. Any thread may use a group.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "comm-channel/include/scela/status.h"

namespace scela::channel {

class RankGroup {
 public:
  // `ranks` has the channel's number of each rank of the communicator. `own` is this process's
  // rank, and `world` the number of ranks, of the channel.
  RankGroup(std::span<const int> ranks, int own, int world);

  // Returns true if each rank has the same number in the channel.
  bool is_whole() const { return is_whole_; }
  // Returns the number of ranks.
  int size() const { return size_; }
  // Returns the number in the channel of a rank of the communicator, which must exist.
  int channel_rank(int rank) const {
    return is_whole_ ? rank : ranks_[static_cast<std::size_t>(rank)];
  }
  // Returns the number in the communicator of a rank of the channel, or -1 if it is not of it.
  int rank_of(int rank) const;
  // Returns true if all other ranks have ended, and there are others. `has_ended` takes a rank of
  // the channel. The group must not be whole.
  template <class HasEnded>
  bool nobody_left(const HasEnded& has_ended) const {
    return ranks_.size() > 1 &&
           std::ranges::all_of(ranks_, [&](int rank) { return rank == own_ || has_ended(rank); });
  }
  // Writes the numbers of the communicator into a status with those of the channel. The text of an
  // error has both.
  void translate(Status& status) const;
  Status translated(Status status) const {
    translate(status);
    return status;
  }

  // Once this rank has freed the communicator, no persistent request is started in it.
  void free() { is_freed_.store(true, std::memory_order_relaxed); }
  bool is_freed() const { return is_freed_.load(std::memory_order_relaxed); }

 private:
  const int own_;  // in the channel
  const int size_;
  const bool is_whole_;
  std::atomic<bool> is_freed_ = false;
  // These are empty if is_whole_: the channel's numbers by those of the communicator, and the
  // channel's numbers, ascending, with those of the communicator.
  std::vector<int> ranks_;
  std::vector<std::pair<int, int>> by_rank_;
};

}  // namespace scela::channel
