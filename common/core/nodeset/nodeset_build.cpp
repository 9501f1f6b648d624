#include "common/core/nodeset/nodeset_build.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace scela::nodeset {

namespace {

// Packs the leading indices of a group's rows into one number that compares as they do.
struct Packing {
  std::vector<unsigned> bits;  // for each index packed
  std::vector<IndexKey> base;  // the smallest key of each

  explicit Packing(const Group& group);
  std::uint64_t pack(const IndexKey* row) const;
  void unpack(std::uint64_t packed, IndexKey* row) const;
};

Packing::Packing(const Group& group) {
  unsigned total = 0;
  for (std::size_t d = 0; d < group.indices; ++d) {
    IndexKey low = group.keys[d];
    IndexKey high = low;
    for (std::size_t i = d; i < group.keys.size(); i += group.indices) {
      low = std::min(low, group.keys[i]);
      high = std::max(high, group.keys[i]);
    }
    const auto needed = static_cast<unsigned>(std::bit_width(high - low));
    total += needed;
    if (total > 63) return;
    bits.push_back(needed);
    base.push_back(low);
  }
}

std::uint64_t Packing::pack(const IndexKey* row) const {
  std::uint64_t packed = 0;
  for (std::size_t d = 0; d < bits.size(); ++d)
    packed = packed << bits[d] | (row[d] - base[d]);
  return packed;
}

void Packing::unpack(std::uint64_t packed, IndexKey* row) const {
  for (std::size_t d = bits.size(); d-- > 0; packed >>= bits[d]) {
    row[d] = (packed & ((std::uint64_t{1} << bits[d]) - 1)) + base[d];
  }
}

template <class T, class... Less>
void sort_unless_sorted(std::vector<T>& values, Less... less) {
  if (!std::is_sorted(values.begin(), values.end(), less...)) {
    std::sort(values.begin(), values.end(), less...);
  }
}

template <class T>
void sort_unique(std::vector<T>& values) {
  sort_unless_sorted(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Sorts rows too long to pack: by what fits, and by the row itself only if that is equal.
void sort_long_rows(Group& group, const Packing& packing) {
  const std::size_t width = group.indices;
  struct Entry {
    std::uint64_t head;
    std::size_t row;
  };
  std::vector<Entry> entries(group.rows());
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i] = {packing.pack(group.row(i)), i};
  sort_unless_sorted(entries, [&](const Entry& a, const Entry& b) {
    if (a.head != b.head) return a.head < b.head;
    const IndexKey* left = group.row(a.row);
    const IndexKey* right = group.row(b.row);
    return std::lexicographical_compare(left, left + width, right, right + width);
  });
  std::vector<IndexKey> sorted;
  sorted.reserve(group.keys.size());
  for (const Entry& entry : entries) {
    const IndexKey* row = group.row(entry.row);
    const bool repeated =
        !sorted.empty() && std::equal(row, row + width, &sorted[sorted.size() - width]);
    if (!repeated) sorted.insert(sorted.end(), row, row + width);
  }
  group.keys = std::move(sorted);
}

// Sorts rows and drops repeated ones.
void sort_rows(Group& group) {
  const std::size_t width = group.indices;
  if (width == 0 || group.keys.size() <= width) return;
  if (width == 1) {
    sort_unique(group.keys);
    return;
  }
  const Packing packing(group);
  if (packing.bits.size() < width) {
    sort_long_rows(group, packing);
    return;
  }
  std::vector<std::uint64_t> packed(group.rows());
  for (std::size_t i = 0; i < packed.size(); ++i)
    packed[i] = packing.pack(group.row(i));
  sort_unique(packed);
  group.keys.resize(packed.size() * width);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    packing.unpack(packed[i], group.keys.data() + i * width);
  }
}

// Returns the first eight bytes as a number that compares as they do.
std::uint64_t head_of(std::string_view text) {
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    head = head << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return head;
}

}  // namespace

const char* refusal_of(char c, bool first) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7f) return "a control character cannot be part of a node name";
  switch (c) {
    case ' ':
    case ',':
    case '!':
    case '&':
    case '^':
      return "an operator cannot be part of a node name";
    case '[':
    case ']':
      return "a bracket cannot be part of a node name";
    case '*':
    case '?':
      return "wildcards are not supported, there is no list of all nodes to match";
    case '@':
      return first ? "node groups (@name) are not supported" : nullptr;
    default:
      return nullptr;
  }
}

void Builder::add_name(std::string_view name) {
  pattern_.clear();
  keys_.clear();
  split_name(name, pattern_, keys_);
  Group& group = group_of(pattern_, keys_.size());
  group.keys.insert(group.keys.end(), keys_.begin(), keys_.end());
  ++raw_count_;
}

void Builder::add_product(std::string_view pattern,
                          const std::vector<std::vector<IndexKey>>& lists) {
  Group& group = group_of(pattern, lists.size());
  std::size_t rows = 1;
  for (const auto& list : lists)
    rows *= list.size();
  raw_count_ += rows;
  if (lists.size() == 1) {
    group.keys.insert(group.keys.end(), lists[0].begin(), lists[0].end());
    return;
  }
  std::vector<std::size_t> turn(lists.size(), 0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < lists.size(); ++i)
      group.keys.push_back(lists[i][turn[i]]);
    for (std::size_t i = lists.size(); i-- > 0;) {
      if (++turn[i] < lists[i].size()) break;
      turn[i] = 0;
    }
  }
}

Group& Builder::group_of(std::string_view pattern, std::size_t indices) {
  if (last_ < groups_.size() && groups_[last_].pattern == pattern) return groups_[last_];
  if (slots_.size() < 2 * (groups_.size() + 1)) grow();
  const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>{}(pattern));
  std::size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot].group != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].hash != hash) continue;
    last_ = slots_[slot].group - 1;
    if (groups_[last_].pattern == pattern) return groups_[last_];
  }
  groups_.push_back({std::string(pattern), indices, {}});
  slots_[slot] = {hash, static_cast<std::uint32_t>(groups_.size())};
  last_ = groups_.size() - 1;
  return groups_[last_];
}

void Builder::grow() {
  std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& entry : old) {
    if (entry.group == 0) continue;
    std::size_t slot = entry.hash & (slots_.size() - 1);
    while (slots_[slot].group != 0)
      slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = entry;
  }
}

void Builder::compact() {
  raw_count_ = 0;
  for (Group& group : groups_) {
    sort_rows(group);
    raw_count_ += group.rows();
  }
}

NodeSet Builder::finish() {
  compact();
  struct Entry {
    std::uint64_t head;
    Group* group;
  };
  std::vector<Entry> order;
  order.reserve(groups_.size());
  for (Group& group : groups_)
    order.push_back({head_of(group.pattern), &group});
  std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
    return a.head != b.head ? a.head < b.head : a.group->pattern < b.group->pattern;
  });
  NodeSet set;
  set.groups_.reserve(order.size());
  for (const Entry& entry : order)
    set.groups_.push_back(std::move(*entry.group));
  *this = Builder();
  return set;
}

}  // namespace scela::nodeset
