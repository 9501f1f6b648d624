#include "nla/ranks/node_segment.h"

#include <utility>

#include "common/os/futex.h"
#include "pmi/protocol/segment_reader.h"

namespace scela::nla {

namespace {
// Room for the pairs of 200,000 ranks over UCX. Only written pages take memory. Pairs that do not
// fit are asked for through the socket.
constexpr std::uint64_t kSegmentBytes = std::uint64_t{256} * 1024 * 1024;
}  // namespace

Result<std::unique_ptr<NodeSegment>> NodeSegment::make(Agent& core, std::uint64_t ranks) {
  auto memory = SealedMemory::make("scela-node", kSegmentBytes);
  if (!memory) return fail(std::move(memory.error()));
  return std::unique_ptr<NodeSegment>(new NodeSegment(core, std::move(*memory), ranks));
}

NodeSegment::NodeSegment(Agent& core, SealedMemory memory, std::uint64_t ranks)
    : core_(core),
      memory_(std::move(memory)),
      writer_(memory_.base(), memory_.bytes(), ranks,
              [&core](const pmi::segment::Writer::Each& each) { core.for_each_cached(each); }) {
  core_.reflect_cache_in(this);
  mark_dead(core_.failed_ranks());
}

NodeSegment::~NodeSegment() {
  core_.reflect_cache_in(nullptr);
}

void NodeSegment::mark_dead(const RankSet& ranks) {
  ranks.for_each([this](Rank rank) { writer_.mark_dead(rank); });
  futex_wake(pmi::segment::Reader(memory_.base(), memory_.bytes()).futex());
}

}  // namespace scela::nla
