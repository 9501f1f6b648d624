// An allgather of which one rank is stopped (stopped.h).
//
//   offload_coll whole|held|before ALGORITHM BYTES EXECUTOR     BYTES: of each rank
#include <algorithm>

#include "tests/strangers/matrix/programs/stopped.h"

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string how = argument(argc, argv, 1, "whole"),
                    algorithm = argument(argc, argv, 2, "-");
  const auto count = static_cast<std::size_t>(number(argc, argv, 3, 65'536)) / 8;
  Here here = open(argument(argc, argv, 4, "engine"), true);
  const auto all = static_cast<std::size_t>(here.size());
  std::vector<std::uint64_t> own(count), got(count * all), right(count * all);
  Stopped work;
  work.make = [&] {
    Collective gather = Collective::allgather(own, got);
    if (algorithm != "-") gather.algorithm(algorithm);
    return gather;
  };
  for (int i = 0; i < 3; ++i)
    must(here.world.run(work.make()), "before one is stopped");
  const auto value = [](std::size_t rank, std::size_t i) { return rank * 1'000'003 + i; };
  for (std::size_t i = 0; i < count * all; ++i)
    right[i] = value(i / count, i % count);
  for (std::size_t i = 0; i < count; ++i)
    own[i] = value(static_cast<std::size_t>(here.rank()), i);
  std::ranges::fill(got, 0);
  work.result = std::as_writable_bytes(std::span(got));
  work.right = [&right](std::span<const std::byte> bytes) {
    return std::ranges::equal(bytes, std::as_bytes(std::span(right)));
  };
  with_one_stopped(here, work, how);
  return 0;
}
