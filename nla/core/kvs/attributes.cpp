#include "nla/core/kvs/attributes.h"

#include "common/core/text.h"

namespace scela::nla {

namespace {

// The pairs of a node may take this many bytes for each of its ranks. Programs leave names of
// segments and of sockets there. If it were smaller, a program that leaves more would be refused.
// If it were larger, a faulty program could take more memory.
constexpr std::uint64_t kBytesPerRank = std::uint64_t{64} * 1024;

Response found(const std::string& value) {
  Response response;
  response.found = true;
  response.parts.emplace_back(value);
  return response;
}

}  // namespace

void Attributes::ask(Rank rank, RequestId id, const ask::PutNode& put) {
  const auto old = pairs_.find(put.key);
  const std::uint64_t freed = old == pairs_.end() ? 0 : put.key.size() + old->second.size();
  const std::uint64_t bytes = bytes_ - freed + put.key.size() + put.value.size();
  const std::uint64_t most = kBytesPerRank * context_.shares(context_.own_ranks);
  if (bytes > most) {
    const std::string why = cat("the attributes of a node take ", most, " bytes at most");
    context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
    return;
  }
  bytes_ = bytes;
  pairs_.insert_or_assign(put.key, put.value);
  context_.act(action::Reply{rank, id, Response{}});
  const auto waiting = waiting_.extract(put.key);
  if (waiting.empty()) return;
  for (const auto& [asker, request] : waiting.mapped())
    context_.act(action::Reply{asker, request, found(put.value)});
}

void Attributes::ask(Rank rank, RequestId id, const ask::GetNode& wanted) {
  const auto pair = pairs_.find(wanted.key);
  if (pair != pairs_.end()) {
    context_.act(action::Reply{rank, id, found(pair->second)});
  } else if (wanted.wait) {
    waiting_[wanted.key].emplace_back(rank, id);
  } else {
    context_.act(action::Reply{rank, id, Response{}});
  }
}

void Attributes::ranks_ended(const RankSet& ranks) {
  for (auto& [key, askers] : waiting_)
    std::erase_if(askers, [&](const auto& asker) { return ranks.contains(asker.first); });
}

void Attributes::peers_failed(const RankSet& ranks) {
  const RankSet here = ranks.intersection(context_.own_ranks);
  if (here.empty()) return;
  const std::string why = cat("rank ", here.text(), " failed");
  for (const auto& [key, askers] : std::exchange(waiting_, {})) {
    for (const auto& [rank, id] : askers)
      context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
  }
}

}  // namespace scela::nla
