// Proves that the lists of all ranks fit together, whatever the values (docs/collectives.md,
// Proof).
//
// Under the strictest rules that a network may have: nothing is buffered, so that a send is
// complete only when its receive has begun, and a buffer is the network's from the beginning of a
// send or receive until a wait has covered it. What is proved so holds for every executor. The cost
// is linear in tasks and in the blocks that they name.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/depths.h"
#include "collectives/core/layout.h"
#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

// A list that has more blocks, or a shape that asks for more, is refused unread.
inline constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 26;

// `lists`: one for each rank of the shape. `parts`: how many the algorithm cuts a message into
// (Algorithm::parts). `layouts`: none, and all blocks are as long as each other; one, for all
// ranks; or each rank's. The error names rank, task and the task's text.
Result<void> check(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts = 1,
                   std::span<const Layout> layouts = {});

// What becomes of a list behind a message whose queue has no room: the message waits beside the
// queue (depths.h), as it does at run time; or the list is held up.
enum class NoRoom : std::uint8_t { beside, holds_up };

// Proves that lists which check() has taken come to their ends on adapters whose queues hold no
// more than this, as they are posted: what plan_offload() makes of each list, in its order. A
// message completes only when its receive has been announced; no rank looks at completions but to
// post more. The error names the circle of ranks that wait for each other, and what has no room.
Result<void> check_posting(std::span<const TaskList> lists, const QueueDepths& depths,
                           std::span<const Layout> layouts = {}, NoRoom rule = NoRoom::beside);

// What check() and execute() refuse before they look at a task.
Result<void> check_shape(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts,
                         std::span<const Layout> layouts);

// The bytes of blocks that need not lie one behind the other; without layouts, their number.
std::uint64_t bytes_of(std::span<const Layout> layouts, int rank, const Blocks& blocks);

}  // namespace scela::collectives
