// Operations of more messages than an adapter's queues hold, in all directions at once, and the
// counters that tell of it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "tests/interop/programs/collectives/communicator_check.h"

using namespace scela;

namespace {

using Numbers = std::vector<std::uint64_t>;
constexpr std::size_t kBlock = 171 * 384;  // numbers of a rank: 171 segments of 3 KiB

void within_limit(Request request) {
  const std::string what = request.describe();
  must(request.wait(std::chrono::seconds(60)), what);
}

Numbers numbers_of(int rank) {
  Numbers numbers(kBlock);
  for (std::size_t i = 0; i < kBlock; ++i)
    numbers[i] = static_cast<std::uint64_t>(rank) * 1'000'003 + i;
  return numbers;
}

void gather_all(Communicator& world, const std::string& algorithm) {
  const Numbers own = numbers_of(world.rank());
  Numbers all(kBlock * static_cast<std::size_t>(world.size()));
  within_limit(world.start(Collective::allgather(own, all).algorithm(algorithm)));
  for (int rank = 0; rank < world.size(); ++rank) {
    const Numbers expected = numbers_of(rank);
    const auto first = all.begin() + rank * static_cast<std::ptrdiff_t>(kBlock);
    must(std::equal(expected.begin(), expected.end(), first), cat("the block of rank ", rank));
  }
}

void add_all(Communicator& world, const std::string& algorithm) {
  const Numbers own = numbers_of(world.rank());
  Numbers sum(kBlock);
  within_limit(world.start(Collective::allreduce(own, sum, ReduceOp::sum).algorithm(algorithm)));
  const auto ranks = static_cast<std::uint64_t>(world.size());
  for (std::size_t i = 0; i < kBlock; ++i)
    must(sum[i] == ranks * (ranks - 1) / 2 * 1'000'003 + ranks * i, cat("sum ", i));
}

}  // namespace

void longer(Communicator& world, ProgressMode by) {
  must(world.barrier(), "barrier");
  add_all(world, "recursive-doubling");
  const EngineCounters before = world.engine_counters();
  must(before.in_parts == 0, "what is short was not posted whole");
  must(world.describe().find("not posted whole") == std::string::npos, world.describe());
  for (int i = 0; i < 2; ++i) {
    gather_all(world, "ring segment 3K");
    add_all(world, "ring segment 512");
  }
  const EngineCounters after = world.engine_counters();
  const bool by_engine = by == ProgressMode::engine;
  must(after.operations == (by_engine ? 6 : 0), cat("operations: ", after.operations));
  // If this process is suspended while it posts, the engine may take enough meanwhile for the rest.
  const bool is_counted =
      by_engine ? after.in_parts >= 1 && after.in_parts <= 4 : after.in_parts == 0;
  must(is_counted, cat("not posted whole: ", after.in_parts));
  const bool is_told =
      world.describe().find(cat(after.in_parts, " of 6 operations")) != std::string::npos;
  must(is_told == by_engine, world.describe());
  must(world.barrier(), "barrier");
  must(world.engine_counters().in_parts == after.in_parts, "a barrier was not posted whole");
}
