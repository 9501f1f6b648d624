// Allgathers with operation lists of more messages for a peer than its queue holds. They end, with
// the right bytes.
//
//   offload_plain ALGORITHM BYTES ROUNDS EXECUTOR [MESSAGES]
//
// ALGORITHM: "-" is the algorithm of the table. BYTES: of each rank. MESSAGES: of each list for a
// peer. If that is beyond the queues, the engine's counters must say so.
#include "tests/strangers/matrix/programs/said.h"

namespace matrix {
namespace {

constexpr std::uint64_t kPrime = 1'000'003;

void round(Here& here, const std::string& algorithm, std::size_t count, std::uint64_t number) {
  const auto all = static_cast<std::size_t>(here.size());
  const auto own = static_cast<std::uint64_t>(here.rank());
  std::vector<std::uint64_t> given(count), got(count * all);
  for (std::size_t i = 0; i < count; ++i)
    given[i] = own * kPrime + i + number;
  Collective gather = Collective::allgather(given, got);
  if (algorithm != "-") gather.algorithm(algorithm);
  Request request = here.world.start(gather);
  must(request.wait(kLimit), "round ", number);
  for (std::size_t rank = 0; rank < all; ++rank)
    for (std::size_t i = 0; i < count; ++i)
      must(got[rank * count + i] == rank * kPrime + i + number, "round ", number, ": element ", i,
           " of rank ", rank, " is another one");
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string algorithm = argument(argc, argv, 1, "-");
  const auto count = static_cast<std::size_t>(number(argc, argv, 2, 524'288)) / 8;
  const long rounds = number(argc, argv, 3, 2), messages = number(argc, argv, 5, 0);
  Here here = open(argument(argc, argv, 4, "engine"));
  for (long i = 0; i < rounds; ++i)
    round(here, algorithm, count, static_cast<std::uint64_t>(i));
  const auto counters = here.world.engine_counters();
  if (here.options.progress == scela::ProgressMode::engine) {
    must(counters.operations >= static_cast<std::uint64_t>(rounds), "the engine was not used");
    const bool told = here.world.describe().find("not posted whole") != std::string::npos;
    must((counters.in_parts > 0) == (messages > 128), counters.in_parts,
         " operations were not posted whole");
    must(told == (counters.in_parts > 0), "described so: ", here.world.describe());
  }
  say(here.rank(), cat("all rounds right by ", algorithm));
  return 0;
}
