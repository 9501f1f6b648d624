// A broadcast of rank 0 of which one rank is stopped (stopped.h).
//
//   offload_bcast whole|parts|held ALGORITHM BYTES EXECUTOR     "-": the algorithm of the table
#include <algorithm>

#include "tests/strangers/matrix/programs/stopped.h"

int main(int argc, char** argv) {
  using namespace matrix;
  const std::string how = argument(argc, argv, 1, "whole"),
                    algorithm = argument(argc, argv, 2, "-");
  Bytes message(static_cast<std::size_t>(number(argc, argv, 3, 1 << 20))), right(message.size());
  Here here = open(argument(argc, argv, 4, "engine"), true);
  Stopped work;
  work.make = [&] {
    Collective bcast = Collective::bcast(message, 0);
    if (algorithm != "-") bcast.algorithm(algorithm);
    return bcast;
  };
  for (int i = 0; i < 2; ++i)
    must(here.world.run(work.make()), "before one is stopped");
  for (std::size_t i = 0; i < right.size(); ++i)
    right[i] = std::byte((i * 31 + 7 + i / 256) & 255);
  message = here.rank() == 0 ? right : Bytes(right.size());
  work.result = message;
  work.right = [&right](std::span<const std::byte> bytes) {
    return std::ranges::equal(bytes, right);
  };
  with_one_stopped(here, work, how);
  return 0;
}
