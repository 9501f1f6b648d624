#include "nla/core/pmix_copies.h"

#include <algorithm>
#include <vector>

#include "common/core/bytes.h"
#include "nla/core/request.h"

namespace scela::nla {

namespace {

// Messages between agents; those before are the desk's and the watch's.
constexpr std::uint32_t kPullTag = kServiceTags + 12;
constexpr std::uint32_t kCopyTag = kServiceTags + 13;
constexpr std::uint32_t kTakenTag = kServiceTags + 14;

}  // namespace

PmixCopies::PmixCopies(const Job& job, const RankSet& own, Sides sides)
    : job_(job), own_(own), sides_(std::move(sides)) {}

RankSet PmixCopies::Wanted::all() const {
  RankSet both = out;
  both.add(err);
  return both;
}

std::uint64_t PmixCopies::window() const {
  std::uint64_t nodes = 0;
  for (const RankMap::Block& block : job_.map.blocks())
    nodes += block.nodes;
  return std::max(kCopiesWindow / std::max<std::uint64_t>(nodes, 1), kLeastCopiesWindow);
}

// What the server wants.

bool PmixCopies::receive(pmix::msg::Pull& message) {
  if (own_.empty() || !RankSet::run(0, job_.map.size()).contains_all(message.ranks)) return false;
  if (message.out) pulled_.out.add(message.ranks);
  if (message.err) pulled_.err.add(message.ranks);
  tell_others();
  want(here(), own_.front(), pulled_);
  return true;
}

bool PmixCopies::receive(pmix::msg::PullNoMore&) {
  if (own_.empty()) return false;
  pulled_ = {};
  tell_others();
  want(here(), own_.front(), pulled_);
  return true;
}

// Each node is told all that is wanted, and finds its own among it.
void PmixCopies::tell_others() {
  const RankSet ranks = pulled_.all();
  for (const RankMap::Block& block : job_.map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i) {
      const std::uint32_t node = block.first_node + i;
      const RankSet theirs = job_.map.ranks_of(node);
      if (asked_.contains(node) || node == here() || !theirs.intersects(ranks)) continue;
      const RankSet left = theirs.minus(failed_);
      if (!left.empty()) asked_.emplace(node, left.front());
    }
  }
  ByteWriter out;
  out.ranks(pulled_.out);
  out.ranks(pulled_.err);
  const std::string bytes = out.take();
  for (const auto& [node, rank] : asked_)
    sides_.send(kPullTag, rank, bytes);
  if (ranks.empty()) asked_.clear();
}

bool PmixCopies::receive(pmix::msg::Taken& message) {
  const auto node = job_.map.node_of(message.rank);
  if (!node || own_.empty()) return false;
  if (*node == here()) {
    taken(*node, message.bytes);
  } else if (const auto at = asked_.find(*node); at != asked_.end()) {
    ByteWriter out;
    out.varint(message.bytes);
    sides_.send(kTakenTag, at->second, out.take());
  }
  return true;
}

// What is written here.

void PmixCopies::want(std::uint32_t node, Rank to, Wanted wanted) {
  wanted.out = wanted.out.intersection(own_);
  wanted.err = wanted.err.intersection(own_);
  if (wanted.empty()) {
    readers_.erase(node);
    return;
  }
  const auto [at, is_new] = readers_.try_emplace(node);
  at->second.to = to;
  at->second.wanted = std::move(wanted);
  if (is_new) at->second.room = window();
}

void PmixCopies::output(Rank rank, bool error, std::string_view bytes) {
  for (auto& [node, reader] : readers_) {
    if (!(error ? reader.wanted.err : reader.wanted.out).contains(rank)) continue;
    if (bytes.size() > reader.room) {
      reader.left_out[{rank, error}] += bytes.size();
    } else {
      give(node, reader, {rank, error}, bytes);
    }
  }
}

void PmixCopies::give(std::uint32_t node, Reader& reader, const Source& source,
                      std::string_view bytes) {
  std::uint64_t left_out = 0;
  if (const auto at = reader.left_out.find(source); at != reader.left_out.end()) {
    left_out = at->second;
    reader.left_out.erase(at);
  }
  reader.room -= bytes.size();
  if (node == here()) {
    return sides_.tell(pmix::msg::Copy{source.first, source.second, left_out, std::string(bytes)});
  }
  ByteWriter out;
  out.varint(source.first);
  out.flag(source.second);
  out.varint(left_out);
  out.raw(bytes);
  sides_.send(kCopyTag, reader.to, out.take());
}

// Once everything was taken, those that have written no more are told of what they miss.
void PmixCopies::taken(std::uint32_t node, std::uint64_t bytes) {
  const auto at = readers_.find(node);
  if (at == readers_.end()) return;
  Reader& reader = at->second;
  reader.room = std::min(reader.room + std::min(bytes, window()), window());
  if (reader.room < window()) return;
  while (!reader.left_out.empty()) {
    const Source source = reader.left_out.begin()->first;
    give(node, reader, source, {});
  }
}

bool PmixCopies::heard(std::uint32_t tag, Rank from, std::string_view bytes) {
  if (tag != kPullTag && tag != kCopyTag && tag != kTakenTag) return false;
  const auto node = job_.map.node_of(from);
  if (!node || own_.empty()) return true;
  ByteReader in(bytes);
  if (tag == kPullTag) {
    Wanted wanted;
    wanted.out = in.ranks();
    wanted.err = in.ranks();
    if (in.done()) want(*node, from, std::move(wanted));
  } else if (tag == kTakenTag) {
    const std::uint64_t count = in.varint();
    if (in.done()) taken(*node, count);
  } else {
    pmix::msg::Copy copy;
    copy.rank = in.varint32();
    copy.error = in.flag();
    copy.left_out = in.varint();
    const bool theirs = in.ok() && job_.map.node_of(copy.rank) == node && asked_.contains(*node);
    if (!theirs || in.rest().size() > window()) return true;
    copy.bytes = in.rest();
    sides_.tell(std::move(copy));
  }
  return true;
}

// A node all of whose ranks have failed may be gone.
void PmixCopies::peers_failed(const RankSet& ranks) {
  failed_.add(ranks);
  const auto gone = [&](std::uint32_t node) {
    return node != here() && failed_.contains_all(job_.map.ranks_of(node));
  };
  if (own_.empty()) return;
  std::erase_if(readers_, [&](const auto& one) { return gone(one.first); });
  std::erase_if(asked_, [&](const auto& one) { return gone(one.first); });
}

}  // namespace scela::nla
