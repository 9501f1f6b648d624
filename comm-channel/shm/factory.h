// The interface of shared memory on a node for the channel.
//
//   rank 0 of the node:  auto segment = make_segment(shape);   tell the others segment->place()
//   the others:          auto segment = open_segment(place, shape);
//   each:                auto link = join_node(segment, rank_on_node);
//   when all have:       link->settle();
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "comm-channel/shm/node_link.h"
#include "comm-channel/shm/segment.h"
#include "common/core/result.h"

namespace scela::channel::shm {

using SharedSegment = std::shared_ptr<const Segment>;

// The contracts are in segment.h (make, open) and node_link.h (join).
Result<SharedSegment> make_segment(const Shape& shape);
Result<SharedSegment> open_segment(const Place& place, const Shape& shape);
inline Result<std::unique_ptr<NodeLink>> join_node(SharedSegment segment, std::uint32_t rank,
                                                   SleepsBy sleeps_by = SleepsBy::word) {
  return NodeLink::join(std::move(segment), rank, sleeps_by);
}

// Converts a place to text, for the job's bootstrap: three numbers.
std::string text_of(const Place& place);
// Returns an error if the text is not that of a place.
Result<Place> place_of(std::string_view text);

// Returns the sizes for a node with this number of ranks and messages of up to `payload` bytes.
Shape shape_for(std::uint32_t ranks, std::size_t payload);

}  // namespace scela::channel::shm
