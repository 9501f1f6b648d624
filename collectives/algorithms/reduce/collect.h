// What a rank of a reduction does that others send to.
#pragma once

#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// Whose contribution comes next, and on which side of what there is already it belongs.
struct Collected {
  int peer = -1;
  bool left = false;
};

// All but the root, from it outwards: below it downwards, then above it upwards. So each belongs on
// one side of all that came before it.
std::vector<Collected> outwards(const Shape& shape);

// Where a rank keeps what it has. Scratch is: the result's segments where it stands there, then
// rows of as many segments each.
class Collector {
 public:
  // `own` is the space that the rank's own contribution stands in, `result` the one where it wants
  // the result (input, for a rank without sources: its own is the result).
  Collector(Writer& list, std::vector<Collected> sources, Space own, Space result,
            std::uint32_t segments);

  // Receives segment `segment` from all sources and reduces it. In order, from 0 on.
  void collect(std::uint32_t segment);
  // Where the reduced segment stands then.
  Blocks result(std::uint32_t segment) const { return {result_, segment, 1}; }
  // How many blocks of scratch it took.
  std::uint32_t scratch_blocks() const;

 private:
  Blocks target(std::size_t source, std::uint32_t segment) const;
  bool is_direct(std::size_t source) const { return direct_ && source == 0; }
  std::size_t row(std::size_t source) const { return source - (direct_ ? 1 : 0); }
  void post(std::size_t source, std::uint32_t segment);
  void post_first(std::uint32_t segment);
  void take(std::size_t source, std::uint32_t segment);

  Writer& list_;
  std::vector<Collected> sources_;
  std::vector<std::uint32_t> posted_;  // segments, by source
  Space own_;
  Space result_;
  std::uint32_t segments_;
  bool direct_;  // the first contribution is received where the result is to be
};

}  // namespace scela::collectives
