#include "nla/pmi/left_ranks.h"

#include "common/core/bytes.h"

namespace scela::nla {

namespace {

// Tags of messages between agents, beside those of PMIx (nla/core/pmix/pmix_data.h). The first asks
// if the destination rank has left; the second says that the source rank has left.
constexpr std::uint32_t kHasLeftTag = kServiceTags + 2;
constexpr std::uint32_t kLeftTag = kServiceTags + 3;

}  // namespace

bool LeftRanks::has_left(Rank asker, Rank rank) {
  const bool known = left_.contains(rank);
  if (!known) emit_(event::Asked{asker, kLeftRequest, ask::Send{rank, kHasLeftTag, {}}});
  return known;
}

bool LeftRanks::heard(const action::Reply& reply) {
  const auto& parts = reply.response.parts;
  if (reply.id != kUnasked || parts.size() != 3) return false;
  ByteReader source(parts[0].view());
  ByteReader about(parts[1].view());
  const auto from = static_cast<Rank>(source.varint());
  const std::uint64_t tag = about.varint();
  if (tag == kLeftTag) {
    left_.add(from);
  } else if (tag == kHasLeftTag) {
    if (ended_.contains(reply.rank) || has_finalized_(reply.rank))
      emit_(event::Asked{reply.rank, kLeftRequest, ask::Send{from, kLeftTag, {}}});
  } else {
    return false;
  }
  return true;
}

}  // namespace scela::nla
