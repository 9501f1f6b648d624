#include "collectives/communicator/families.h"

#include <algorithm>
#include <array>
#include <utility>

#include "collectives/communicator/call/collective.h"
#include "collectives/communicator/maker.h"
#include "collectives/executors/factory.h"
#include "comm-channel/include/inside.h"
#include "common/core/text.h"

namespace scela::collectives {

namespace {

constexpr std::size_t kBits = 64;

bool is_set(const std::vector<std::uint64_t>& bits, std::size_t place) {
  return place / kBits < bits.size() && (bits[place / kBits] >> place % kBits & 1) != 0;
}

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
    family.status =
        error_of(Code::resources, channel.rank(),
                 cat("make a communicator of all ranks of a channel: all ", first_contexts_.size(),
                     " possible ones are in use by some rank; free one, or duplicate one (dup)"));
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

// If this rank calls a family free, the channel keeps the messages of its operations again from
// then on: other ranks may use it before this rank knows that all agree, and the life of a context
// tells late messages apart. The program's messages have no life. So their contexts are opened only
// when each rank has had a word of each other rank from after its give_back(), and no rank uses
// them before all have opened them.
Status Families::agree(Channel& channel) {
  std::vector<std::uint64_t> free;
  std::vector<std::uint64_t> life(1);
  {
    const std::lock_guard lock(mutex_);
    free.resize(first_contexts_.size() / kBits + 1);
    for (std::size_t place = 0; place < first_contexts_.size(); ++place) {
      if (!free_[place]) continue;
      free[place / kBits] |= std::uint64_t{1} << place % kBits;
      channel.open_contexts(first_contexts_[place], kContextsOfOne);
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
  // Each rank sends to each: what it sent before in a context has come when this has.
  const std::array<std::uint8_t, 1> word{};
  std::vector<std::uint8_t> words(static_cast<std::size_t>(channel.size()));
  if (status.ok()) status = all.run(Collective::allgather(word, words).algorithm("direct"));
  if (!status.ok()) agreed.assign(agreed.size(), 0);
  open_agreed(channel, free, agreed);
  if (status.ok()) status = all.barrier();
  const std::lock_guard lock(mutex_);
  agreed_life_ = static_cast<std::uint32_t>(highest[0]);
  for (std::size_t place = 0; status.ok() && place < first_contexts_.size(); ++place)
    if (is_set(agreed, place)) agreed_.push_back(place);
  return status;
}

void Families::open_agreed(Channel& channel, const std::vector<std::uint64_t>& free,
                           const std::vector<std::uint64_t>& agreed) {
  const std::lock_guard lock(mutex_);
  for (std::size_t place = 0; place < first_contexts_.size(); ++place) {
    const std::uint32_t first = first_contexts_[place];
    if (is_set(agreed, place))
      channel.open_contexts(first + kContextsOfOne, kContextsOfFamily - kContextsOfOne);
    else if (is_set(free, place))
      channel.close_contexts(first, kContextsOfFamily);
  }
}

}  // namespace scela::collectives
