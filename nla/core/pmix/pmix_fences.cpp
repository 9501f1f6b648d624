#include "nla/core/pmix/pmix_fences.h"

#include <string_view>
#include <utility>

#include "common/core/bytes.h"

namespace scela::nla {

namespace {

// The most bytes of a fence's result. Its message has room for the other fields too.
constexpr std::size_t kMaxFenced = pmix::kMaxBody - 64;
// At most this many fences of one set wait for each other.
constexpr std::size_t kMaxWaitingFences = 64;

// Returns the FNV-1a hash of set and name, which is equal at every node.
std::uint32_t tag_of(const RankSet& ranks, std::string_view name) {
  ByteWriter out;
  out.ranks(ranks);
  out.raw(name);
  std::uint32_t hash = 2166136261U;
  for (const char c : out.bytes())
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

// Returns the answer to the server, made of the contributions of all nodes.
pmix::msg::Answer fenced(const PmixQuestion& question, const Response& response) {
  using pmix::Status;
  const PmixGathering& gathering = *question.fence;
  pmix::msg::Answer out{question.id, response.ok ? Status::ok : Status::failed, {}};
  for (const Chunk& part : response.parts) {
    ByteReader in(part.view());
    const bool broken = in.flag();
    const bool other = in.ranks() != gathering.ranks || in.text() != gathering.name;
    if (!gathering.name.empty()) {
      const std::string_view number = in.raw(8);
      if (out.blob.empty()) out.blob = number;  // the first part is the lowest rank's
    }
    if (!in.ok() || broken || other) out.status = Status::failed;
    if (out.status == Status::ok) out.blob += in.rest();
  }
  if (out.status == Status::ok && out.blob.size() > kMaxFenced) out.status = Status::too_large;
  if (out.status != Status::ok) out.blob.clear();
  return out;
}

}  // namespace

PmixFences::Fences& PmixFences::fences_of(const PmixGathering& gathering) {
  const auto [at, is_new] = fences_.try_emplace(gathering);
  if (!is_new) return at->second;
  Fences& fences = at->second;
  const RankSet& ranks = gathering.ranks;
  fences.tag = tag_of(ranks, gathering.name);
  // This uses the whole job's map, because a set may have ranks of several worlds.
  RankSet led;  // nodes
  Rank first = 0;
  for (const RankMap::Block& block : job_.map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i, first += block.ranks_per_node) {
      const RankSet here = RankSet::run(first, block.ranks_per_node).intersection(ranks);
      if (here.empty() || led.contains(block.first_node + i)) continue;
      fences.leaders.add(here.front());
      led.add(block.first_node + i);
    }
  }
  return fences;
}

bool PmixFences::receive(pmix::msg::Fence& message) {
  if (!message.ranks.intersects(own_) ||
      !RankSet::run(0, job_.map.size()).contains_all(message.ranks)) {
    return false;
  }
  const PmixGathering gathering{std::move(message.ranks), std::move(message.name)};
  Fences& fences = fences_of(gathering);
  if (fences.waiting.size() >= kMaxWaitingFences) {
    questions_.answer(message.id, pmix::Status::too_large);
    return true;
  }
  fences.waiting.push_back({message.id, std::move(message.blob)});
  if (!fences.under_way) enter(gathering, fences);
  if (!fences.under_way) fences_.erase(gathering);
  return true;
}

void PmixFences::enter(const PmixGathering& gathering, Fences& fences) {
  const RankSet& ranks = gathering.ranks;
  const Rank leader = ranks.intersection(own_).front();
  while (!fences.waiting.empty()) {
    const Fence fence = std::move(fences.waiting.front());
    fences.waiting.pop_front();
    // The core knows that the leader has ended, and tells the other nodes.
    if (!ranks_.is_here(leader)) {
      questions_.answer(fence.id, pmix::Status::failed);
      continue;
    }
    ByteWriter given;
    given.flag(ranks_.is_incomplete(ranks));
    given.ranks(ranks);
    given.text(gathering.name);
    if (!gathering.name.empty()) given.u64((std::uint64_t{leader} << 32) + ++numbered_);
    given.raw(fence.blob);
    ask::Collective gather;
    gather.kind = CollectiveKind::allgather;
    gather.set = fences.leaders;
    gather.tag = fences.tag;
    gather.parts.emplace_back(given.take());
    fences.under_way = true;
    questions_.ask({fence.id, leader, gathering, pmix::Status::failed}, std::move(gather));
    return;
  }
}

void PmixFences::answered(const PmixQuestion& question, const Response& response) {
  pmix::msg::Answer answer = fenced(question, response);
  questions_.answer(answer.id, answer.status, std::move(answer.blob));
  go_on(*question.fence);
}

void PmixFences::go_on(const PmixGathering& gathering) {
  Fences& fences = fences_.at(gathering);
  fences.under_way = false;
  enter(gathering, fences);
  if (!fences.under_way) fences_.erase(gathering);
}

}  // namespace scela::nla
