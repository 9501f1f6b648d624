// Ranks that find each other by comm-channel/bootstrap, under any launcher.
//
//   bootstrap_probe          values of 0 to 10,000 bytes, twice, and each rank's node; rank 0
//                            prints one line
//   bootstrap_probe absent   a value that no rank has put is an error that names it
//   bootstrap_probe abort    rank 1 ends the job
//   bootstrap_probe die      rank 1 is killed between join and fence
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "comm-channel/bootstrap/bootstrap.h"
#include "common/core/text.h"

using scela::cat;
using scela::channel::Bootstrap;
using scela::channel::World;

namespace {

[[noreturn]] void failed(const std::string& why) {
  std::fprintf(stderr, "bootstrap_probe: %s\n", why.c_str());
  std::_Exit(3);
}

template <class T>
T must(scela::Result<T> result) {
  if (!result) failed(result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Returns bytes of all values, which differ with rank, round and size.
std::string bytes_of(int rank, int round, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(i * 7 + static_cast<std::size_t>(rank) * 31 + size +
                                 static_cast<std::size_t>(round));
  return bytes;
}

constexpr std::size_t kSizes[] = {0, 1, 2, 3, 255, 700, 760, 1023, 1024, 10'000};

void exchange_all(Bootstrap& job, int round) {
  const World& world = job.world();
  for (const std::size_t size : kSizes)
    must(job.put(cat("value.", round, ".", size), bytes_of(world.rank, round, size)));
  must(job.fence());
  for (int rank = 0; rank < world.size; ++rank) {
    for (const std::size_t size : kSizes) {
      if (must(job.get(rank, cat("value.", round, ".", size))) != bytes_of(rank, round, size)) {
        failed(cat("rank ", rank, " has put another value of ", size, " bytes"));
      }
    }
  }
}

// Returns each rank's node as a text, which must be the same on all ranks.
std::string map_of(Bootstrap& job) {
  const World& world = job.world();
  std::string map = cat(world.size, " ranks on ", world.nodes, " nodes:");
  for (const int node : world.node_of)
    map += cat(" ", node);
  int sum = 0;
  for (int node = 0; node < world.nodes; ++node)
    sum += static_cast<int>(world.ranks_of(node).size());
  if (sum != world.size ||
      world.ranks_of(world.node())[static_cast<std::size_t>(world.local_rank())] != world.rank ||
      static_cast<int>(world.ranks_of(world.node()).size()) != world.local_size()) {
    failed("ranks of nodes are not all ranks");
  }
  const auto others = must(job.exchange(cat(world.job, " ", map)));
  for (const std::string& other : others) {
    if (other != others.front()) failed(cat("ranks differ: ", other, " | ", others.front()));
  }
  return map;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  auto joined = must(Bootstrap::join());
  Bootstrap& job = *joined;
  const World& world = job.world();
  if (mode == "abort" && world.rank == 1) job.abort(7, "no more of this");
  if (mode == "die" && world.rank == 1) ::kill(::getpid(), SIGKILL);
  if (mode == "die") {
    if (auto done = job.fence(); !done) failed(done.error().text());
  }
  if (mode == "absent") {
    must(job.fence());
    const auto none = job.get(world.size - 1, "nothing");
    if (none) failed("a value that nobody has put");
    if (world.rank == 0) std::printf("%s\n", none.error().text().c_str());
    const auto outside = job.get(world.size, "nothing");
    if (outside || job.put("a key", "x") ||
        job.put("k", std::string(Bootstrap::kMaxValue + 1, 'x')))
      failed("a rank, a key or a size that cannot be");
    must(job.fence());
    must(job.leave());
    return 0;
  }
  for (int round = 0; round < 2; ++round)
    exchange_all(job, round);
  const std::string map = map_of(job);
  const std::string by = job.describe();
  for (int rank = 0; rank < world.size; ++rank) {
    if (job.has_failed(rank)) failed("a rank has failed");
  }
  must(job.leave());
  if (job.fence()) failed("a fence of a job that was left");
  if (world.rank == 0) {
    std::printf("bootstrap: %s, %s\n", map.c_str(), by.substr(0, by.find_first_of(" ,:")).c_str());
  }
  return 0;
}
