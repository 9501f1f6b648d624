// The collector of a reduction's list: it receives and combines the contributions that other ranks
// send to this rank. The algorithms of this folder use it while they write a list. It belongs to
// the writer's thread.
#pragma once

#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// A rank that sends a contribution. `left` says that the contribution is the left operand when it
// is combined with those that were collected before.
struct Collected {
  int peer = -1;  // the rank
  bool left = false;
};

// Returns all ranks but the root, from it outwards: the ranks below it, descending, then the ranks
// above it, ascending. So each belongs on one side of all that came before it.
std::vector<Collected> outwards(const Shape& shape);

// Appends the tasks that receive and reduce contributions, segment by segment. Scratch has the
// result's segments first if the result is there. Rows of as many segments each follow, for
// contributions that wait to be combined.
class Collector {
 public:
  // The writer must outlive the object. `sources` are the ranks that send, in the order in which
  // they are combined. `own` is the space with this rank's own contribution, and `result` the space
  // for the result. A rank without sources may name `own` for both: its contribution is the result.
  Collector(Writer& list, std::vector<Collected> sources, Space own, Space result,
            std::uint32_t segments);

  // Appends the tasks that receive the segment from all sources and reduce it. The caller takes
  // segments in order from 0 on.
  void collect(std::uint32_t segment);
  // Returns the block of the reduced segment, after collect().
  Blocks result(std::uint32_t segment) const { return {result_, segment, 1}; }
  // Returns how many blocks of scratch the collector uses.
  std::uint32_t scratch_blocks() const;

 private:
  // Returns the block into which a source's contribution is received: in the result, or in a row of
  // scratch.
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
  // Appends a wait for a source's contribution, and the reduction on its side of what was collected
  // before.
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
