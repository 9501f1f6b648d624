#include "nla/pmi/rank_doorbells.h"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace scela::nla {

void RankDoorbells::Doorbell::ready(bool /*readable*/, bool /*writable*/) {
  // The doorbell is reset before any rank is looked at, so that a rank that rings meanwhile is
  // heard again.
  std::uint64_t rings = 0;
  // This never waits, whatever flags a rank has given the doorbell that it shares.
  iovec part{&rings, sizeof rings};
  if (::preadv2(fd.get(), &part, 1, -1, RWF_NOWAIT) > 0) all.rung();
}

bool RankDoorbells::hang(Poller& poller) {
  if (of_ranks_) return true;
  for (std::unique_ptr<Doorbell>* const which : {&own_, &of_ranks_}) {
    auto doorbell = std::make_unique<Doorbell>(*this);
    doorbell->fd.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!doorbell->fd) return false;
    poller.watch(doorbell->fd.get(), true, false, *doorbell);
    *which = std::move(doorbell);
  }
  return true;
}

void RankDoorbells::ring() const {
  if (!of_ranks_) return;
  const std::uint64_t one = 1;
  static_cast<void>(::write(own_->fd.get(), &one, sizeof one));  // full: it rings already
}

void RankDoorbells::rung() {
  for (DoorbellListener* const listener : listeners_)
    listener->rung();
}

}  // namespace scela::nla
