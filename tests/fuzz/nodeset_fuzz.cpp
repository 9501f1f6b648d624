// Fuzzes the reader of node sets with arbitrary text. Whatever it accepts must fold, read back as
// the same set, and agree with the ordered expansion; whatever it refuses must be refused by both
// readers, with an explanation.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/nodeset/nodeset.h"

namespace {

using scela::NodeSet;

// These are small, so that many inputs are tried: longer texts and larger sets only repeat what
// short ones do.
constexpr std::size_t kMaxText = 512;
constexpr std::size_t kMaxNodes = 300;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_set(std::string_view text, const NodeSet& set) {
  require(set.size() <= kMaxNodes);
  const std::string folded = set.fold();
  const auto again = NodeSet::parse(folded, kMaxNodes);
  require(again.has_value() && *again == set);

  const std::vector<std::string> names = set.expand();
  require(names.size() == set.size());
  for (const std::string& name : names) {
    require(!name.empty() && name.size() <= NodeSet::kMaxNameBytes && set.contains(name));
  }
  const auto listed = NodeSet::from_names(names);
  require(listed.has_value() && *listed == set);
  const auto ordered = scela::expand_ordered(text, kMaxNodes);
  require(ordered.has_value() && ordered->size() == names.size());
  for (const std::string& name : *ordered)
    require(set.contains(name));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxText) return 0;
  const std::string text(data, data + size);
  const auto set = NodeSet::parse(text, kMaxNodes);
  if (set) {
    check_set(text, *set);
  } else {
    require(!set.error().why.empty() && !set.error().what.empty());
    require(!scela::expand_ordered(text, kMaxNodes).has_value());
  }
  return 0;
}
