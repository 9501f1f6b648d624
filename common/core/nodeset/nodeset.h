// A set of node names: parsed from, and folded back to, the notation of ClusterShell and pdsh.
//
//   node[001-128,200]        rack[1-4]n[01-32]        n[0-10/2]-ib0        login1,gpu[1-8]!gpu3
//
// Grammar. A text is a row of operands, joined by operators and evaluated strictly from left to
// right:
//   ,  or blank space   union                    &   intersection
//   !                   difference               ^   symmetric difference (in one of the two)
// An operand is a name in which any number may be a bracket [list]; list = item{,item};
// item = FIRST[-LAST[/STEP]]. There is at most one bracket in one run of digits: n[1-2]3 is
// n13,n23.
//
// A set holds names, compared byte for byte: node1 and node01 are two nodes. A range keeps the
// width of its numbers: [08-11] is 08,09,10,11; [8-11] is 8,9,10,11; [8-011] is refused. Every run
// of at most kMaxIndexDigits digits is an index that folding may collect. So node7 is index 7 of
// `node*` and 10.0.0.1,10.0.0.2 folds to 10.0.0.[1-2].
//
// Names are ordered by pattern (the name with its numbers left out), then by their numbers from the
// left. A shorter number comes before a longer one.
//
// A set differs from ClusterShell 1.9 in four points. Blanks unite. The order of names with several
// numbers does not depend on how they fold. n1[9-11] is n19,n110,n111 (there, the range 19-111).
// [-1] is refused.
//
// A set knows no name service: groups (@name) and wildcards are refused. It is a value, and nothing
// blocks. Parsing, set operations and folding cost n log n in the names and digits that they
// handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela {

namespace nodeset {

class Builder;

// A run of digits as one number, which sorts by length, then by value (nodeset_index.h).
using IndexKey = std::uint64_t;

// All names of one pattern: rows of `indices` keys each, in ascending order, without repetition. A
// pattern without indices stands for the one name that it spells, and has no keys.
struct Group {
  // The name with an index mark (nodeset_index.h) in place of each number.
  std::string pattern;
  std::size_t indices = 0;  // numbers in each name of the pattern
  std::vector<IndexKey> keys;

  // Returns the number of names.
  std::size_t rows() const { return indices == 0 ? 1 : keys.size() / indices; }
  // Returns the keys of one name, `indices` numbers; requires number < rows().
  const IndexKey* row(std::size_t number) const { return keys.data() + number * indices; }
  friend bool operator==(const Group&, const Group&) = default;
};

}  // namespace nodeset

// A set of node names.
class NodeSet {
 public:
  // The largest number of nodes in a text, in each of its operands, or in a list of names. A typing
  // error such as node[1-10000000] must not take the machine's memory.
  static constexpr std::size_t kMaxNodes = 1'000'000;
  static constexpr std::size_t kMaxNameBytes = 255;  // RFC 1035 section 2.3.4

  class Iterator;

  NodeSet() = default;
  // Returns the set of a text; blank text is the empty set. Returns an error (kind usage) if the
  // text is malformed or has more than `max_nodes` names. It names the character at fault, counted
  // from 1.
  static Result<NodeSet> parse(std::string_view text, std::size_t max_nodes = kMaxNodes);
  // Returns the set of these names, taken literally; a name may be there twice. Brackets, operators
  // and blanks in them are errors.
  static Result<NodeSet> from_names(std::span<const std::string> names);

  bool empty() const { return groups_.empty(); }
  // Returns the number of names.
  std::size_t size() const;
  // Returns true if this very name is in the set.
  bool contains(std::string_view name) const;

  // These return a new set: the names of either set, of this set alone, and of both sets.
  NodeSet united(const NodeSet& other) const;
  NodeSet minus(const NodeSet& other) const;
  NodeSet intersection(const NodeSet& other) const;

  // Returns the names in the order described above.
  std::vector<std::string> expand() const;
  // Iterates over the names in the same order.
  Iterator begin() const;
  Iterator end() const;

  // Returns the folded text; parse(fold()) is this set. Ranges have no steps, as ClusterShell
  // prints them. Names with several numbers fold to few products of ranges. The least number of
  // products is not guaranteed (that is NP-hard), but a set that is one product always folds to it.
  std::string fold() const;
  // Returns fold().
  std::string text() const { return fold(); }

  friend bool operator==(const NodeSet&, const NodeSet&) = default;

 private:
  friend class nodeset::Builder;

  // Says which of the three parts of two sets an operation keeps.
  struct Keep {
    bool left;
    bool both;
    bool right;
  };
  // combine() keeps the wanted parts of two sets. combine_rows() does so for two groups with the
  // same pattern, and returns the rows.
  static NodeSet combine(NodeSet a, NodeSet b, Keep keep);
  static std::vector<nodeset::IndexKey> combine_rows(const nodeset::Group& a,
                                                     const nodeset::Group& b, Keep keep);

  std::vector<nodeset::Group> groups_;  // ascending by pattern, none empty
};

// Reads names one by one, and makes each one when it is asked for. It is invalid once the set
// changes.
class NodeSet::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = std::string;
  using difference_type = std::ptrdiff_t;
  using pointer = const std::string*;
  using reference = std::string;

  // Returns the name by value.
  std::string operator*() const;
  Iterator& operator++();
  Iterator operator++(int);
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  friend class NodeSet;
  Iterator(const NodeSet* set, std::size_t group) : set_(set), group_(group) {}

  const NodeSet* set_;
  std::size_t group_;
  std::size_t row_ = 0;
};

// Returns the names of a host list in the order in which they were written: "n[3,1],n[1-2]" is n3
// n1 n2. Each name is there once, at its first place. In a bracket the rightmost number turns
// fastest. A text with an operator other than union has no written order, so it gives
// parse(text).expand(). Limits and errors are those of parse().
Result<std::vector<std::string>> expand_ordered(std::string_view text,
                                                std::size_t max_nodes = NodeSet::kMaxNodes);

}  // namespace scela
