// Keys of nodes: each agent holds the keys of its own slice of the host list, and can compute no
// other.
//
// The keys are a binary tree of digests over all numbers that a node may have (Goldreich,
// Goldwasser and Micali, 1986: "How to construct random functions"). The key of each half follows
// from the key of the whole, and not the other way round. scela-run makes the key of the whole. A
// parent hands its child the keys of the largest halves that make up the child's slice, 62 at most.
// So every ancestor of a node has the node's key, whichever way the tree has grown or was mended
// after a loss. A compromised node has the keys of its own slice only.
//
// The key of a node secures the link to its parent and proves both ends of an adoption. The shell
// and scela-nla --attach use it. Values only; OpenSSL is used only in the .cpp file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/kary_tree.h"
#include "common/core/result.h"
#include "common/crypto/hmac.h"

namespace scela::nla {

// The length of one key.
inline constexpr std::size_t kNodeKeyBytes = 32;

// A set of keys. Its memory is wiped when it is destroyed.
class NodeKeys {
 public:
  // Has no keys.
  NodeKeys() = default;
  // Returns the keys of all possible nodes. `whole` is kNodeKeyBytes random bytes.
  static NodeKeys all(std::string whole);

  // Returns true if there are no keys.
  bool empty() const { return parts_.empty(); }
  // Returns the keys of the slice's nodes (node numbers [first, end)), as far as this object has
  // them.
  NodeKeys of(Slice slice) const;
  // Returns the key of one node. Returns an empty string if this object does not have it. The
  // caller wipes the key.
  std::string of(std::uint32_t node) const;

  // Returns the bytes that decode() reads.
  std::string encode() const;
  // Reads the bytes of encode(). Error (protocol): they are no encoded keys.
  static Result<NodeKeys> decode(std::string_view bytes);

 private:
  // A key from which those of 2^(32 - depth) nodes follow: [first, end()). Depth 0 is the whole.
  struct Part {
    ~Part() { wipe(key); }
    std::uint8_t depth = 0;
    std::uint32_t first = 0;
    std::string key;
    std::uint64_t end() const { return std::uint64_t{first} + (std::uint64_t{1} << (32U - depth)); }
  };
  // Adds to `out` the largest parts below `part` that lie within the nodes [first, end).
  static void cover(const Part& part, std::uint64_t first, std::uint64_t end,
                    std::vector<Part>& out);
  std::vector<Part> parts_;  // sorted by first node
};

}  // namespace scela::nla
