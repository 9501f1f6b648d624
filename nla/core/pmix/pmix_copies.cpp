#include "nla/core/pmix/pmix_copies.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/core/bytes.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

namespace {

// The tags of messages between agents. The service tags below these belong to PmixData and
// PmixWatch.
constexpr std::uint32_t kPullTag = kServiceTags + 12;
constexpr std::uint32_t kCopyTag = kServiceTags + 13;
constexpr std::uint32_t kTakenTag = kServiceTags + 14;

}  // namespace

PmixCopies::PmixCopies(const Job& job, const RankSet& own, Callbacks sides)
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

// These functions handle what this node's server wants.

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
      if (left.empty() || lost_.contains(node)) continue;
      asked_.emplace(node, Asked{left.front(), ++generation_, window(), 0, {}});
    }
  }
  for (auto& [node, asked] : asked_)
    ask(asked);
  if (ranks.empty()) asked_.clear();
}

void PmixCopies::ask(Asked& asked) {
  ByteWriter out;
  out.ranks(pulled_.out);
  out.ranks(pulled_.err);
  out.varint(asked.generation);
  out.varint(asked.window - std::min(asked.held, asked.window));
  sides_.send(kPullTag, asked.rank, out.take());
}

// The question, copies, or messages that say what was taken may have been lost with an agent. So
// the question is asked again.
void PmixCopies::reconnected(const RankSet& ranks) {
  const bool inside = own_.intersects(ranks);
  for (auto& [node, asked] : asked_) {
    if (job_.map.ranks_of(node).intersects(ranks) == inside) continue;
    asked.generation = ++generation_;
    ask(asked);
  }
}

bool PmixCopies::receive(pmix::msg::Taken& message) {
  const auto node = job_.map.node_of(message.rank);
  if (!node || own_.empty()) return false;
  if (*node == here()) {
    taken(*node, message.bytes);
  } else if (const auto at = asked_.find(*node); at != asked_.end()) {
    passed(at->second, message.bytes);
  }
  return true;
}

// Once no bytes are held, the server is told what it misses of streams that have written no more.
void PmixCopies::passed(Asked& asked, std::uint64_t bytes) {
  const std::uint64_t count = std::min(bytes, asked.held);
  if (count == 0) return;
  asked.held -= count;
  ByteWriter out;
  out.varint(asked.generation);
  out.varint(count);
  sides_.send(kTakenTag, asked.rank, out.take());
  if (asked.held > 0) return;
  for (const auto& [source, left_out] : std::exchange(asked.left_out, {}))
    sides_.tell(pmix::msg::Copy{source.first, source.second, left_out, {}});
}

// Bytes that have no room, or that were in flight when the question was asked again, are left out.
void PmixCopies::copied(std::uint32_t node, Asked& asked, pmix::msg::Copy copy, bool counts) {
  if (job_.map.node_of(copy.rank) != node) return;
  const Source source{copy.rank, copy.error};
  if (!counts || copy.bytes.size() > asked.window - std::min(asked.held, asked.window)) {
    asked.left_out[source] += copy.left_out + copy.bytes.size();
    return;
  }
  if (const auto at = asked.left_out.find(source); at != asked.left_out.end()) {
    copy.left_out += at->second;
    asked.left_out.erase(at);
  }
  if (copy.bytes.empty() && copy.left_out == 0) return;
  asked.held += copy.bytes.size();
  sides_.tell(std::move(copy));
}

// These functions handle what the ranks of this node write.

PmixCopies::Reader* PmixCopies::want(std::uint32_t node, Rank to, Wanted wanted) {
  wanted.out = wanted.out.intersection(own_);
  wanted.err = wanted.err.intersection(own_);
  if (wanted.empty()) {
    readers_.erase(node);
    return nullptr;
  }
  const auto [at, is_new] = readers_.try_emplace(node);
  at->second.to = to;
  at->second.wanted = std::move(wanted);
  if (is_new) at->second.room = window();
  return &at->second;
}

// Another node asks. If the generation is new, the node says how much room it has left for an
// answer.
void PmixCopies::want_again(std::uint32_t node, Rank to, Wanted wanted, std::uint64_t generation,
                            std::uint64_t room) {
  Reader* reader = want(node, to, std::move(wanted));
  if (reader == nullptr || reader->generation == generation) return;
  reader->generation = generation;
  reader->room = std::min(room, window());
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
  out.varint(reader.generation);
  out.varint(source.first);
  out.flag(source.second);
  out.varint(left_out);
  out.raw(bytes);
  sides_.send(kCopyTag, reader.to, out.take());
}

// Once all bytes were taken, the reader is told what it misses of streams that have written no
// more.
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
    const std::uint64_t generation = in.varint();
    const std::uint64_t room = in.varint();
    if (in.done()) want_again(*node, from, std::move(wanted), generation, room);
  } else if (tag == kTakenTag) {
    const std::uint64_t generation = in.varint();
    const std::uint64_t count = in.varint();
    const auto reader = readers_.find(*node);
    const bool counts = reader != readers_.end() && reader->second.generation == generation;
    if (in.done() && counts) taken(*node, count);
  } else {
    const std::uint64_t generation = in.varint();
    pmix::msg::Copy copy;
    copy.rank = in.varint32();
    copy.error = in.flag();
    copy.left_out = in.varint();
    const auto at = asked_.find(*node);
    if (!in.ok() || at == asked_.end() || generation > at->second.generation) return true;
    copy.bytes = in.rest();
    copied(*node, at->second, std::move(copy), generation == at->second.generation);
  }
  return true;
}

// If all ranks of a node have failed, the node may be gone.
void PmixCopies::peers_failed(const RankSet& ranks) {
  failed_.add(ranks);
  const auto gone = [&](std::uint32_t node) {
    return node != here() && failed_.contains_all(job_.map.ranks_of(node));
  };
  if (own_.empty()) return;
  std::erase_if(readers_, [&](const auto& one) { return gone(one.first); });
  std::erase_if(asked_, [&](const auto& one) { return gone(one.first); });
}

void PmixCopies::nodes_lost(const RankSet& nodes) {
  lost_.add(nodes);
  const auto gone = [&](const auto& one) { return nodes.contains(one.first); };
  std::erase_if(readers_, gone);
  std::erase_if(asked_, gone);
}

}  // namespace scela::nla
