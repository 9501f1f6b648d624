#include "comm-channel/include/rank_group.h"

#include <cstddef>

#include "comm-channel/engine/status_writer.h"
#include "common/core/text.h"

namespace scela::channel {

namespace {

bool are_all(std::span<const int> ranks, int world) {
  if (static_cast<int>(ranks.size()) != world) return false;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank] != static_cast<int>(rank)) return false;
  return true;
}

}  // namespace

RankGroup::RankGroup(std::span<const int> ranks, int own, int world)
    : own_(own), size_(static_cast<int>(ranks.size())), is_whole_(are_all(ranks, world)) {
  if (is_whole_) return;
  ranks_.assign(ranks.begin(), ranks.end());
  by_rank_.reserve(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    by_rank_.emplace_back(ranks[rank], static_cast<int>(rank));
  std::ranges::sort(by_rank_);
}

int RankGroup::rank_of(int rank) const {
  if (is_whole_ || rank < 0) return rank;
  const auto found = std::ranges::lower_bound(by_rank_, std::pair(rank, 0));
  return found != by_rank_.end() && found->first == rank ? found->second : -1;
}

void RankGroup::translate(Status& status) const {
  if (is_whole_) return;
  if (status.source() >= 0)
    StatusWriter::set_message(status, rank_of(status.source()), status.tag(), status.bytes());
  if (status.ok() || status.rank() < 0) return;
  const int rank = rank_of(status.rank());
  StatusWriter::set_error(
      status, Status(status.code(), rank,
                     cat(status.message(), "; rank ", status.rank(), " of the job is rank ", rank,
                         " of the communicator")));
}

}  // namespace scela::channel
