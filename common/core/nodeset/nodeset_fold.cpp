// Folding writes the names of each pattern as few products of ranges.
//
// Names with one index are a sorted list, which append_ranges() prints. With several indices each
// name starts as a box (one index for each dimension). Boxes that differ in one dimension only are
// merged along it. A pass over all boxes finds the equal ones with a hash table. So names that do
// not fold cost only one pass for each dimension. Boxes stay disjoint, hence the fold is exact.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/core/nodeset/nodeset.h"
#include "common/core/nodeset/nodeset_index.h"

namespace scela {

using nodeset::Group;
using nodeset::IndexKey;

namespace {

// The dimension that is merged first can decide how few boxes remain. Small sets try all orders.
// The number of tries falls with the size of the set, so that a large one costs two.
constexpr std::size_t kSearchWork = 200'000;  // names times orders
constexpr std::size_t kMaxOrders = 24;        // all orders of four dimensions
constexpr int kMaxRounds = 8;                 // over all dimensions, or until no merge

// One dimension of a box: a key, or, with the highest bit set, the number of a list of keys.
using Atom = std::uint64_t;
constexpr Atom kListBit = Atom{1} << 63;

std::uint64_t mix(std::size_t dimension, Atom atom) {
  std::uint64_t z = atom + (dimension + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Boxes {
 public:
  explicit Boxes(const Group& group) : dimensions_(group.indices), atoms_(group.keys) {
    hashes_.reserve(group.rows());
    for (std::size_t box = 0; box < group.rows(); ++box) {
      std::uint64_t hash = 0;
      for (std::size_t d = 0; d < dimensions_; ++d)
        hash += mix(d, at(box, d));
      hashes_.push_back(hash);
    }
  }

  // Merges along the dimensions in this order until no boxes merge. Returns false if none did.
  bool merge(const std::vector<std::size_t>& order);
  std::string text(std::string_view pattern) const;

 private:
  // Boxes that are equal but for one dimension, linked through next_.
  struct Chain {
    std::uint32_t first;
    std::uint32_t last;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::size_t count() const { return hashes_.size(); }
  Atom at(std::size_t box, std::size_t d) const { return atoms_[box * dimensions_ + d]; }
  IndexKey front(Atom atom) const { return atom & kListBit ? lists_[atom & ~kListBit][0] : atom; }
  bool merge_along(std::size_t d);
  std::vector<Chain> chains_along(std::size_t d);
  bool equal_but_for(std::size_t d, std::size_t a, std::size_t b) const;
  Atom merged_atom(const Chain& chain, std::size_t d);
  Atom intern(std::vector<IndexKey> keys);

  std::size_t dimensions_;
  std::vector<Atom> atoms_;  // count() rows of dimensions_
  // Each box's hash: the sum of mix() over its dimensions.
  std::vector<std::uint64_t> hashes_;
  std::vector<std::vector<IndexKey>> lists_;
  std::unordered_multimap<std::uint64_t, std::size_t> list_numbers_;  // by hash of the list
  std::vector<std::uint32_t> next_;
};

bool Boxes::merge(const std::vector<std::size_t>& order) {
  bool any = false;
  // A merge can leave a box that differs from another in only one dimension, so it may merge again.
  for (int round = 0; round < kMaxRounds; ++round) {
    bool merged = false;
    for (const std::size_t d : order)
      merged |= merge_along(d);
    if (!merged) break;
    any = true;
  }
  return any;
}

bool Boxes::equal_but_for(std::size_t d, std::size_t a, std::size_t b) const {
  for (std::size_t i = 0; i < dimensions_; ++i) {
    if (i != d && at(a, i) != at(b, i)) return false;
  }
  return true;
}

std::vector<Boxes::Chain> Boxes::chains_along(std::size_t d) {
  std::size_t capacity = 16;
  while (capacity < 2 * count())
    capacity *= 2;
  struct Slot {
    std::uint32_t tag;
    std::uint32_t chain;
  };
  std::vector<Slot> slots(capacity, Slot{0, kNone});
  std::vector<Chain> chains;
  next_.assign(count(), kNone);
  for (std::uint32_t box = 0; box < count(); ++box) {
    const std::uint64_t hash = hashes_[box] - mix(d, at(box, d));
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t slot = hash & (capacity - 1);
    for (;; slot = (slot + 1) & (capacity - 1)) {
      if (slots[slot].chain == kNone) {
        slots[slot] = {tag, static_cast<std::uint32_t>(chains.size())};
        chains.push_back({box, box});
        break;
      }
      if (slots[slot].tag != tag) continue;
      Chain& chain = chains[slots[slot].chain];
      if (!equal_but_for(d, chain.first, box)) continue;
      next_[chain.last] = box;
      chain.last = box;
      break;
    }
  }
  return chains;
}

bool Boxes::merge_along(std::size_t d) {
  const std::vector<Chain> chains = chains_along(d);
  if (chains.size() == count()) return false;
  // Chains stand in the order of their first boxes, so boxes only move forward.
  for (std::size_t to = 0; to < chains.size(); ++to) {
    const Chain& chain = chains[to];
    const Atom old = at(chain.first, d);
    const Atom merged = chain.first == chain.last ? old : merged_atom(chain, d);
    hashes_[to] = hashes_[chain.first] - mix(d, old) + mix(d, merged);
    for (std::size_t i = 0; i < dimensions_; ++i) {
      atoms_[to * dimensions_ + i] = i == d ? merged : at(chain.first, i);
    }
  }
  hashes_.resize(chains.size());
  atoms_.resize(chains.size() * dimensions_);
  return true;
}

Atom Boxes::merged_atom(const Chain& chain, std::size_t d) {
  std::vector<IndexKey> keys;
  for (std::uint32_t box = chain.first; box != kNone; box = next_[box]) {
    const Atom atom = at(box, d);
    if (atom & kListBit) {
      const std::vector<IndexKey>& list = lists_[atom & ~kListBit];
      keys.insert(keys.end(), list.begin(), list.end());
    } else {
      keys.push_back(atom);
    }
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  return intern(std::move(keys));
}

// Gives equal lists one number, so that two atoms are equal if what they stand for is.
Atom Boxes::intern(std::vector<IndexKey> keys) {
  std::uint64_t hash = 0;
  for (const IndexKey key : keys)
    hash = mix(0, hash ^ key);
  const auto [begin, end] = list_numbers_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    if (lists_[known->second] == keys) return kListBit | known->second;
  }
  list_numbers_.emplace(hash, lists_.size());
  lists_.push_back(std::move(keys));
  return kListBit | (lists_.size() - 1);
}

std::string Boxes::text(std::string_view pattern) const {
  std::vector<std::size_t> order(count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const IndexKey left = front(at(a, d));
      const IndexKey right = front(at(b, d));
      if (left != right) return left < right;
    }
    return false;
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::sort(order.begin(), order.end(), before);
  }
  std::string out;
  for (const std::size_t box : order) {
    if (!out.empty()) out += ',';
    std::size_t d = 0;
    for (const char c : pattern) {
      if (c != nodeset::kIndexMark) {
        out += c;
        continue;
      }
      const Atom atom = at(box, d++);
      if (atom & kListBit) {
        out += '[';
        nodeset::append_ranges(out, lists_[atom & ~kListBit]);
        out += ']';
      } else {
        nodeset::append_digits(out, atom);
      }
    }
  }
  return out;
}

// Returns true if no two rows of a small group differ in one dimension only. Most groups that
// random names make are such.
bool small_and_unfoldable(const Group& group) {
  constexpr std::size_t kSmall = 8;
  const std::size_t rows = group.rows();
  if (rows > kSmall) return false;
  for (std::size_t a = 0; a < rows; ++a) {
    for (std::size_t b = a + 1; b < rows; ++b) {
      std::size_t differences = 0;
      for (std::size_t d = 0; d < group.indices && differences < 2; ++d) {
        differences += group.row(a)[d] != group.row(b)[d];
      }
      if (differences == 1) return false;
    }
  }
  return true;
}

void list_rows(std::string& out, const Group& group) {
  for (std::size_t row = 0; row < group.rows(); ++row) {
    if (row != 0) out += ',';
    nodeset::append_name(out, group.pattern, group.row(row));
  }
}

std::string fold_boxes(const Group& group, std::size_t tries) {
  std::vector<std::size_t> order(group.indices);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Boxes first(group);
  const bool merged = first.merge({order.rbegin(), order.rend()});
  std::string best = first.text(group.pattern);
  if (!merged) return best;  // no other order merges anything either
  for (std::size_t i = 1; i < tries; ++i) {
    Boxes boxes(group);
    boxes.merge(order);
    std::string text = boxes.text(group.pattern);
    if (text.size() < best.size()) best = std::move(text);
    if (!std::next_permutation(order.begin(), order.end())) break;
  }
  return best;
}

void fold_list(std::string& out, const Group& group) {
  for (const char c : group.pattern) {
    if (c != nodeset::kIndexMark) {
      out += c;
      continue;
    }
    out += '[';
    nodeset::append_ranges(out, group.keys);
    out += ']';
  }
}

}  // namespace

std::string NodeSet::fold() const {
  const std::size_t nodes = std::max<std::size_t>(size(), 1);
  const std::size_t tries = std::clamp<std::size_t>(kSearchWork / nodes, 1, kMaxOrders);
  std::string out;
  for (const Group& group : groups_) {
    if (!out.empty()) out += ',';
    if (group.indices == 1 && group.rows() > 1) {
      fold_list(out, group);
    } else if (small_and_unfoldable(group)) {
      list_rows(out, group);
    } else {
      out += fold_boxes(group, tries);
    }
  }
  return out;
}

}  // namespace scela
