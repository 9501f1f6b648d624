#include "nla/keys/node_keys.h"

#include <algorithm>
#include <utility>

#include "common/core/bytes.h"
#include "common/crypto/hmac.h"

namespace scela::nla {

namespace {

constexpr std::uint8_t kDepth = 32;
// Parts of a slice: two for each level but the first and the last.
constexpr std::size_t kMaxParts = 62;

// Returns the key of the lower half (0) or the upper one (1).
std::string half_of(const std::string& key, char which) {
  return hmac_sha256(key, std::string("scela nodes") + which);
}

}  // namespace

NodeKeys NodeKeys::all(std::string whole) {
  NodeKeys keys;
  keys.parts_.push_back({0, 0, std::move(whole)});
  return keys;
}

void NodeKeys::cover(const Part& part, std::uint64_t first, std::uint64_t end,
                     std::vector<Part>& out) {
  if (part.end() <= first || part.first >= end) return;
  if (part.first >= first && part.end() <= end) {
    out.push_back(part);
    return;
  }
  const auto depth = static_cast<std::uint8_t>(part.depth + 1);
  Part lower{depth, part.first, half_of(part.key, 0)};
  Part upper{depth, static_cast<std::uint32_t>(lower.end()), half_of(part.key, 1)};
  cover(lower, first, end, out);
  cover(upper, first, end, out);
}

NodeKeys NodeKeys::of(Slice slice) const {
  NodeKeys keys;
  for (const Part& part : parts_)
    cover(part, slice.first, slice.end, keys.parts_);
  return keys;
}

std::string NodeKeys::of(std::uint32_t node) const {
  std::vector<Part> found;
  for (const Part& part : parts_)
    cover(part, node, std::uint64_t{node} + 1, found);
  return found.empty() ? std::string() : found.front().key;
}

std::string NodeKeys::encode() const {
  ByteWriter out;
  out.varint(parts_.size());
  for (const Part& part : parts_) {
    out.u8(part.depth);
    out.u32(part.first);
    out.raw(part.key);
  }
  return out.take();
}

Result<NodeKeys> NodeKeys::decode(std::string_view bytes) {
  const auto malformed = [] {
    return fail(Error{ErrorKind::protocol, "read the keys of nodes", {}, "malformed", {}});
  };
  ByteReader in(bytes);
  const std::uint64_t count = in.varint();
  if (count > kMaxParts) return malformed();
  NodeKeys keys;
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Part part;
    part.depth = in.u8();
    part.first = in.u32();
    part.key = in.raw(kNodeKeyBytes);
    if (!in.ok() || part.depth > kDepth || part.first < next ||
        part.first % (part.end() - part.first) != 0) {
      return malformed();
    }
    next = part.end();
    keys.parts_.push_back(std::move(part));
  }
  if (!in.done()) return malformed();
  return keys;
}

}  // namespace scela::nla
