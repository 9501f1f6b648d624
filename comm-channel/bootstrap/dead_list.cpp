#include "comm-channel/bootstrap/dead_list.h"

#include <ctime>

namespace scela::channel {

// This clock has the precision of a tick. It is read for each rank whenever nothing has come.
std::chrono::nanoseconds DeadList::coarse_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void DeadList::note(const std::optional<std::string>& said) {
  if (!said || said->empty()) return;
  if (const auto ranks = RankSet::parse(*said)) dead_.add(*ranks);
}

}  // namespace scela::channel
