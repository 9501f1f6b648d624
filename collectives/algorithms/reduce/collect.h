// The collector of a rank of a reduction that others send to. The algorithms of this folder use it
// while they write a list. It belongs to the writer's thread.
#pragma once

#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// A source of a contribution, and on which side of what has been collected the contribution
// belongs.
struct Collected {
  int peer = -1;
  bool left = false;
};

// Returns all ranks but the root, from it outwards: the ranks below it, descending, then the ranks
// above it, ascending. So each belongs on one side of all that came before it.
std::vector<Collected> outwards(const Shape& shape);

// Receives and reduces contributions. Scratch has the result's segments if the result stands there,
// then rows of as many segments each.
class Collector {
 public:
  // `own` is the space that has the rank's own contribution, and `result` is the space for the
  // result. A rank without sources may name `own` for both: its contribution is the result.
  Collector(Writer& list, std::vector<Collected> sources, Space own, Space result,
            std::uint32_t segments);

  // Receives segment `segment` from all sources and reduces it. The caller takes segments in order
  // from 0 on.
  void collect(std::uint32_t segment);
  // Returns where the reduced segment stands after collect().
  Blocks result(std::uint32_t segment) const { return {result_, segment, 1}; }
  // Returns how many blocks of scratch the collector uses.
  std::uint32_t scratch_blocks() const;

 private:
  // Returns where a source's contribution is received: in the result, or in a row of scratch.
  Blocks target(std::size_t source, std::uint32_t segment) const;
  // Returns true if the source is received into the result. Only the first source can be.
  bool is_direct(std::size_t source) const { return direct_ && source == 0; }
  // Returns the source's number among those that are received into rows.
  std::size_t row(std::size_t source) const { return source - (direct_ ? 1 : 0); }
  // Posts the receive of a segment from a source. It does nothing if there is no such source or
  // segment, or if another segment of the source comes next.
  void post(std::size_t source, std::uint32_t segment);
  // Posts the receives of a segment that need not wait for a row to be read.
  void post_first(std::uint32_t segment);
  // Waits for a source's contribution, and reduces it on its side of what has been collected.
  void take(std::size_t source, std::uint32_t segment);

  Writer& list_;
  std::vector<Collected> sources_;
  std::vector<std::uint32_t> posted_;  // posted segments, indexed by source
  Space own_;
  Space result_;
  std::uint32_t segments_;
  bool direct_;  // source 0 is received into `result`
};

}  // namespace scela::collectives
