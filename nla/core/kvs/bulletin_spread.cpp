// Brings pairs to the nodes of their owners, and questions after them (cache::Policy::owner).
// docs/design/caches.md says why a question never arrives before the pair that it is about.
#include <algorithm>

#include "nla/core/kvs/bulletin.h"
#include "nla/core/kvs/records.h"

namespace scela::nla {

namespace {

// Up to this many bytes of pairs of one fence wait here for others that go the same way. If it were
// smaller, large stages would take more messages. If it were larger, every inner agent would need
// more memory.
constexpr std::uint64_t kMaxAside = 4 * kRecordPayload;

}  // namespace

void Bulletin::add_routes(const RankSet& ranks, LinkId link) {
  for (const RankSet::Range& range : ranks.ranges())
    routes_.push_back({range.last, range.first, link});
}

std::optional<LinkId> Bulletin::next_link_to(std::string_view key) const {
  const LinkId up = context_.is_root() ? kHere : kParentLink;
  const std::optional<Rank> owner = policy_->owner(key);
  if (!owner) return up;
  const auto at = std::lower_bound(routes_.begin(), routes_.end(), *owner,
                                   [](const Route& route, Rank rank) { return route.last < rank; });
  if (at == routes_.end() || at->first > *owner) {
    if (context_.subtree_ranks.contains(*owner)) return std::nullopt;
    return up;
  }
  if (at->link == kHere) return kHere;
  const Child* child = children_.find(at->link);
  if (child == nullptr || !child->serving()) return std::nullopt;
  return at->link;
}

bool Bulletin::sort(std::string_view pairs, LinkId comes_from, Parts& parts, std::string* up) {
  bool right = true;
  const char* from = pairs.data();
  const bool whole = cache::for_each_stamped(
      pairs, [&](std::string_view key, std::string_view value, cache::Stamp stamp) {
        const char* const end = value.data() + value.size();
        const std::string_view pair(from, static_cast<std::size_t>(end - from));
        from = end;
        const std::optional<LinkId> to = next_link_to(key);
        // The node of the key's owner is lost, so the job ends.
        if (!to) return;
        if (*to == comes_from) {
          right = false;
          return;
        }
        policy_->pair_passes(key, value, stamp);
        if (!asked_.empty()) mark_stale(key);
        if (*to == kParentLink) {
          *up += pair;
        } else if (*to != kHere) {
          parts[*to] += pair;
        }
      });
  return whole && right;
}

bool Bulletin::spread(LinkId from, Chunk& pairs) {
  if (!spreads_ || pairs.empty()) return true;
  std::string up;
  const bool right = sort(pairs.view(), from, aside_, &up);
  pairs = Chunk(std::move(up));
  aside_bytes_ = 0;
  for (const auto& [link, bytes] : aside_)
    aside_bytes_ += bytes.size();
  if (aside_bytes_ > kMaxAside) send_spread();
  recheck();
  return right;
}

void Bulletin::send_spread() {
  send(aside_);
  aside_bytes_ = 0;
}

bool Bulletin::receive(const msg::Pairs& message) {
  if (!spreads_) return false;
  Parts parts;
  const bool right = sort(message.pairs.view(), kParentLink, parts, nullptr);
  send(parts);
  recheck();
  return right;
}

void Bulletin::send(Parts& parts) {
  for (auto& [link, bytes] : parts) {
    const Child* child = children_.find(link);
    if (child == nullptr || !child->serving()) continue;
    cache::for_each_piece(bytes, kRecordPayload, [&, &to = link](std::string_view piece) {
      context_.send(to, msg::Pairs{Chunk(std::string(piece))});
    });
  }
  parts.clear();
}

}  // namespace scela::nla
