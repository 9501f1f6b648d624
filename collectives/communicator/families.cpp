#include "collectives/communicator/families.h"

#include <algorithm>
#include <utility>

#include "collectives/communicator/call/collective.h"
#include "collectives/communicator/maker.h"
#include "collectives/executors/factory.h"
#include "comm-channel/include/inside.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

constexpr std::size_t kBits = 64;

}  // namespace

std::shared_ptr<Families> Families::of(Channel& channel) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::shared_ptr<void>& kept = channel::Inside::kept_for(channel);
  if (kept == nullptr) kept = std::make_shared<Families>();
  return std::static_pointer_cast<Families>(kept);
}

Families::Family Families::take(Channel& channel) {
  const std::lock_guard one_at_a_time(taking_);
  Family family;
  const std::uint32_t reserved = channel.reserve_contexts(kContextsOfFamily);
  if (reserved == kWorld && agreed_.empty()) family.status = agree(channel);
  if (!family.status.ok()) return family;
  const std::lock_guard lock(mutex_);
  if (reserved != kWorld) {
    family.place = first_contexts_.size();
    family.first_context = reserved;
    first_contexts_.push_back(reserved);
    free_.push_back(false);
    return family;
  }
  if (agreed_.empty()) {
    family.status = error_of(
        Code::resources, channel.rank(),
        cat("make a communicator of all ranks of a channel: each of the ", first_contexts_.size(),
            " that there can be is used by a rank yet: free some, or take others of one (dup)"));
    return family;
  }
  family.place = agreed_.front();
  family.first_context = first_contexts_[family.place];
  family.life = agreed_life_;
  agreed_.pop_front();
  free_[family.place] = false;
  return family;
}

void Families::give_back(Channel& channel, const Family& family, std::uint32_t life_after) {
  channel.close_contexts(family.first_context, kContextsOfFamily);
  const std::lock_guard lock(mutex_);
  free_[family.place] = true;
  life_ = std::max(life_, life_after);
}

// If this rank calls a family free, the channel keeps its messages again from then on. Other ranks
// may use it before this rank knows that all agree.
Status Families::agree(Channel& channel) {
  std::vector<std::uint64_t> free;
  std::vector<std::uint64_t> life(1);
  {
    const std::lock_guard lock(mutex_);
    free.resize(first_contexts_.size() / kBits + 1);
    for (std::size_t place = 0; place < first_contexts_.size(); ++place) {
      if (!free_[place]) continue;
      free[place / kBits] |= std::uint64_t{1} << place % kBits;
      channel.open_contexts(first_contexts_[place], kContextsOfFamily);
    }
    life[0] = life_;
  }
  CommunicatorMaker maker;
  maker.transport = [&channel] { return make_channel_transport(channel); };
  maker.rank = channel.rank();
  for (int rank = 0; rank < channel.size(); ++rank)
    maker.nodes.push_back(channel.node_of(rank));
  maker.first_context = kFamiliesContext;
  maker.contexts = 1;
  maker.life = agreements_++;
  Communicator all = maker.make();
  std::vector<std::uint64_t> agreed(free.size());
  std::vector<std::uint64_t> highest(1);
  Status status = all.status();
  if (status.ok()) status = all.run(Collective::allreduce(free, agreed, ReduceOp::bit_and));
  if (status.ok()) status = all.run(Collective::allreduce(life, highest, ReduceOp::maximum));
  if (!status.ok()) agreed.assign(agreed.size(), 0);
  const std::lock_guard lock(mutex_);
  agreed_life_ = static_cast<std::uint32_t>(highest[0]);
  for (std::size_t place = 0; place < first_contexts_.size(); ++place) {
    const std::uint64_t bit = std::uint64_t{1} << place % kBits;
    if ((agreed[place / kBits] & bit) != 0)
      agreed_.push_back(place);
    else if ((free[place / kBits] & bit) != 0)
      channel.close_contexts(first_contexts_[place], kContextsOfFamily);
  }
  return status;
}

}  // namespace scela::collectives
