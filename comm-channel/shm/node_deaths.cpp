#include "comm-channel/shm/node_deaths.h"

namespace scela::channel::shm {

bool NodeDeaths::find_out(std::uint32_t rank) {
  if (is_known(rank)) return true;
  if (!processes_.has_ended(rank)) return false;
  record(rank);
  return true;
}

void NodeDeaths::find_out() {
  for (const std::uint32_t rank : processes_.newly_ended())
    record(rank);
}

void NodeDeaths::record(std::uint32_t rank) {
  if (segment_.ended(rank).exchange(1, std::memory_order_acq_rel) != 0) return;
  segment_.deaths().fetch_add(1, std::memory_order_acq_rel);
  for (std::uint32_t other = 0; other < segment_.shape().ranks; ++other)
    if (other != self_) wakers_.wake_in_any_case(other);
}

}  // namespace scela::channel::shm
