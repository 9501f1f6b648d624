#include "nla/core/pmix/pmix_data.h"

#include <algorithm>
#include <utility>

#include "common/core/bytes.h"
#include "nla/core/kvs/mailbox.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

namespace {

using pmix::Status;

constexpr std::uint32_t kWantTag = kServiceTags;
constexpr std::uint32_t kDataTag = kServiceTags + 1;

// Another node may have this many questions waiting at a time, or twice its number of ranks if that
// is more, for each rank here. A server asks once for each of its own ranks that wants to know, and
// again after a way was lost. If it were smaller, ranks would be told that there is no data. If it
// were larger, a node that was taken over could take more memory of this node's server.
constexpr std::size_t kLeastQuestions = 4;
constexpr std::size_t kAround = 64;    // an answer has less beside its data
constexpr std::size_t kMaxKey = 1024;  // libpmix's are half of that at most

}  // namespace

PmixData::PmixData(const Job& job, const RankSet& own, Callbacks sides)
    : job_(job), own_(own), sides_(std::move(sides)) {}

void PmixData::answer(pmix::Id id, Status status, std::string blob) {
  sides_.tell(pmix::msg::Answer{id, status, std::move(blob)});
}

bool PmixData::receive(pmix::msg::DataWanted& message) {
  const auto node = job_.map.node_of(message.rank);
  if (own_.contains(message.rank) || !node || lost_.contains(*node) || own_.minus(ended_).empty() ||
      failed_.contains(message.rank)) {
    answer(message.id, Status::not_found);
    return true;
  }
  const Wanted& one = wanted_.emplace(message.id, Wanted{message.rank, message.key}).first->second;
  want(message.id, one);
  return true;
}

void PmixData::want(pmix::Id id, const Wanted& one, bool no_more) {
  ByteWriter out;
  out.varint(id);
  out.flag(no_more);
  out.raw(one.key);
  sides_.send(kWantTag, one.rank, out.take());
}

bool PmixData::heard(std::uint32_t tag, Rank from, Rank to, std::string_view bytes) {
  if (tag != kWantTag && tag != kDataTag) return false;
  ByteReader in(bytes);
  const pmix::Id id = in.varint();
  if (tag == kWantTag) {
    const bool no_more = in.flag();
    if (!in.ok() || in.rest().size() > kMaxKey) return true;
    if (no_more) {
      withdrawn(job_.map.node_of(from).value_or(0), id);
    } else {
      wanted({from, id, to, std::string(in.rest())});
    }
    return true;
  }
  const bool there = in.flag();
  // Only the node that was asked may answer.
  const auto at = wanted_.find(id);
  if (!in.ok() || at == wanted_.end() ||
      job_.map.node_of(from) != job_.map.node_of(at->second.rank)) {
    return true;
  }
  wanted_.erase(at);
  answer(id, there ? Status::ok : Status::not_found, there ? std::string(in.rest()) : "");
  return true;
}

void PmixData::wanted(const Visitor& visitor) {
  const std::uint32_t node = job_.map.node_of(visitor.asker).value_or(0);
  // A question may come again after a way was lost.
  const auto same = [&](const Visitor& one) { return is_of(one, node, visitor.id); };
  if (std::ranges::any_of(early_, same) ||
      std::ranges::any_of(visitors_, same,
                          [](const auto& one) -> const Visitor& { return one.second; })) {
    return;
  }
  const std::size_t most =
      own_.size() * std::max<std::size_t>(kLeastQuestions, 2 * job_.map.ranks_of(node).size());
  if (waiting_of_[node] >= most) return send(visitor, Status::not_found, {});
  // The rank's world is on its way here. The asker's node heard of it earlier.
  if (job_.world_of(visitor.rank) >= ready_worlds_) {
    ++waiting_of_[node];
    return early_.push_back(visitor);
  }
  if (!own_.contains(visitor.rank) || ended_.contains(visitor.rank)) {
    return send(visitor, Status::not_found, {});
  }
  ++waiting_of_[node];
  const pmix::Id id = next_visitor_++;
  visitors_.emplace(id, visitor);
  sides_.tell(pmix::msg::DataAsked{id, visitor.rank, visitor.key});
}

bool PmixData::receive(pmix::msg::Data& message) {
  const auto at = visitors_.extract(message.id);
  if (at.empty()) return true;
  waits_no_more(at.mapped());
  send(at.mapped(), message.status, message.blob);
  return true;
}

bool PmixData::is_of(const Visitor& visitor, std::uint32_t node, pmix::Id id) const {
  return visitor.id == id && job_.map.node_of(visitor.asker).value_or(0) == node;
}

// No rank of that node waits for this answer any more.
void PmixData::withdrawn(std::uint32_t node, pmix::Id id) {
  forget_visitors([&](const Visitor& visitor) { return is_of(visitor, node, id); });
}

template <class Which>
void PmixData::forget_visitors(Which which) {
  std::erase_if(early_, [&](const Visitor& visitor) {
    if (!which(visitor)) return false;
    waits_no_more(visitor);
    return true;
  });
  std::erase_if(visitors_, [&](const auto& one) {
    if (!which(one.second)) return false;
    waits_no_more(one.second);
    sides_.tell(pmix::msg::DataNoMore{one.first});
    return true;
  });
}

bool PmixData::give_up(pmix::Id id) {
  const auto at = wanted_.find(id);
  if (at == wanted_.end()) return false;
  want(id, at->second, true);
  wanted_.erase(at);
  answer(id, Status::timed_out);
  return true;
}

void PmixData::waits_no_more(const Visitor& visitor) {
  --waiting_of_[job_.map.node_of(visitor.asker).value_or(0)];
}

void PmixData::send(const Visitor& visitor, Status status, std::string_view blob) {
  // Data that fits into no message counts as not found, because the asker must not wait for it.
  if (blob.size() + kAround > kMaxMessage) return send(visitor, Status::not_found, {});
  ByteWriter out;
  out.varint(visitor.id);
  out.flag(status == Status::ok);
  out.raw(blob);
  sides_.send(kDataTag, visitor.asker, out.take());
}

void PmixData::worlds_ready(std::size_t worlds) {
  ready_worlds_ = worlds;
  for (const Visitor& visitor : std::exchange(early_, {})) {
    waits_no_more(visitor);
    wanted(visitor);
  }
}

void PmixData::rank_ended(Rank rank) {
  ended_.add(rank);
  for (auto at = visitors_.begin(); at != visitors_.end();) {
    if (at->second.rank == rank) {
      waits_no_more(at->second);
      send(at->second, Status::not_found, {});
      sides_.tell(pmix::msg::DataNoMore{at->first});
      at = visitors_.erase(at);
    } else {
      ++at;
    }
  }
}

void PmixData::peers_failed(const RankSet& ranks) {
  failed_.add(ranks);
  forget_wanted(ranks);
}

void PmixData::nodes_lost(const RankSet& nodes) {
  lost_.add(nodes);
  forget_visitors([&](const Visitor& visitor) {
    const auto node = job_.map.node_of(visitor.asker);
    return node && nodes.contains(*node);
  });
  nodes.for_each([&](std::uint32_t node) { forget_wanted(job_.map.ranks_of(node)); });
}

// The question is asked again. If the answer to the first one comes too, it is equal.
void PmixData::reconnected(const RankSet& ranks) {
  const bool inside = own_.intersects(ranks);
  for (const auto& [id, one] : wanted_) {
    const auto node = job_.map.node_of(one.rank);
    if (node && job_.map.ranks_of(*node).intersects(ranks) != inside) want(id, one);
  }
}

// No server will answer for these ranks any more.
void PmixData::forget_wanted(const RankSet& ranks) {
  for (auto at = wanted_.begin(); at != wanted_.end();) {
    if (ranks.contains(at->second.rank)) {
      answer(at->first, Status::not_found);
      at = wanted_.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace scela::nla
