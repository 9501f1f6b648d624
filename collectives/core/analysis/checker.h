// The checker proves that the lists of all ranks fit together, whatever the values
// (docs/design/collectives.md, Proof). Tests run it on the lists of all algorithms. Its functions
// are pure, and any thread may call them.
//
// It applies the strictest rules that a network may have. Nothing is buffered, so a send is
// complete only when its receive has begun. The network owns a buffer from the beginning of a send
// or receive until a wait has covered it. So what is proved holds for every executor. The cost is
// linear in tasks and in the blocks that they name.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/block_layout.h"
#include "collectives/core/depths.h"
#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

// If a list has more blocks than this, or a shape asks for more, it is refused before its tasks are
// read.
inline constexpr std::uint64_t kMaxBlocks = std::uint64_t{1} << 26;

// Returns success if the lists fit together and with the definition of the operation; otherwise an
// error. `lists` has one list for each rank of the shape. `parts` is the number of parts into which
// the algorithm cuts a message (Algorithm::parts). `layouts` has no layout, one for all ranks, or
// one for each rank. If it has none, all blocks have the same length. An error of a task names the
// rank, the task's number and its text.
Result<void> check(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts = 1,
                   std::span<const Layout> layouts = {});

// The rule for a message that finds no room on its queue. With `beside` it waits beside the queue
// (collectives/core/depths.h) while the list goes on, as it does at run time. With `holds_up` the
// list waits for it.
enum class NoRoom : std::uint8_t { beside, holds_up };

// Returns success if the lists come to their ends on adapters with queues that hold no more than
// `depths`. check() must have accepted the lists; `layouts` is as there. The lists are posted as
// plan_offload() makes them, in its order. A message completes only when its receive has been
// announced, and a rank looks at completions only to post more. An error names the circle of ranks
// that wait for each other, and the requests that have no room.
Result<void> check_posting(std::span<const TaskList> lists, const QueueDepths& depths,
                           std::span<const Layout> layouts = {}, NoRoom rule = NoRoom::beside);

// Checks the arguments of check() and execute() without looking at tasks: the numbers of lists and
// layouts, the root, and the numbers of blocks. Returns an error if they do not fit the shape.
Result<void> check_shape(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts,
                         std::span<const Layout> layouts);

// Returns the sum of the sizes in bytes of blocks of this rank. Without layouts, returns the number
// of blocks.
std::uint64_t bytes_of(std::span<const Layout> layouts, int rank, const Blocks& blocks);

}  // namespace scela::collectives
