#include "nla/core/pmix/pmix_ranks.h"

namespace scela::nla {

bool PmixRanks::connected(Rank rank) {
  if (!own_.contains(rank)) return false;
  if (ended_.contains(rank)) return true;  // its stand-in
  connected_.add(rank);
  known_.add(rank);
  send_stand_ins();
  return true;
}

bool PmixRanks::finalized(Rank rank) {
  if (!own_.contains(rank)) return false;
  connected_.remove(RankSet::single(rank));
  return true;
}

void PmixRanks::ended(Rank rank) {
  connected_.remove(RankSet::single(rank));
  ended_.add(rank);
}

void PmixRanks::note_end(const pmix::Process& process) {
  const bool is_fine = process.state == pmix::ProcessState::exited && process.code == 0;
  // If the job ends because of this rank, no rank will be left to wait for it.
  if (!is_fine && job_.on_failure == OnFailure::kill) return;
  if (!known_.contains(process.rank)) absent_.add(process.rank);
  send_stand_ins();
}

void PmixRanks::send_stand_ins() {
  if (connected_.empty() || !stand_in_) return;
  std::exchange(absent_, {}).for_each(stand_in_);
}

bool PmixRanks::is_incomplete(const RankSet& ranks) const {
  bool leaving = ended_.intersects(ranks);
  if (!is_leaving_ || job_.on_failure == OnFailure::kill) return leaving;
  own_.intersection(ranks).for_each([&](Rank rank) { leaving |= is_leaving_(rank); });
  return leaving;
}

}  // namespace scela::nla
