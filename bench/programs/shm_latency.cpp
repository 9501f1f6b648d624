// Measures how fast a node's shared memory is, next to the least time that the machine allows, in
// the same run:
//
//   shm_latency            8 bytes there and back beside a bare line of the cache; rates; large
//                          copies beside bare process_vm_readv; many ranks on few processors
//   shm_latency round N    only the last, with N ranks
//
// Ranks are processes; the first two are pinned on the first two processors that are allowed.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "comm-channel/shm/factory.h"
#include "common/os/affinity.h"
#include "common/os/clock.h"

namespace {

using namespace scela::channel;  // NOLINT: a program of one file
using scela::monotonic_ns;

// The memory that the ranks of a run share, besides what is measured.
struct Board {
  std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint64_t> ping;
  alignas(64) std::atomic<std::uint64_t> pong;
  alignas(64) std::atomic<std::uint64_t> address;
  std::atomic<pid_t> pid;
  double figures[16];
};

void barrier(Board& board, std::uint32_t ranks) {
  const std::uint32_t mine = board.arrived.fetch_add(1) + 1;
  const std::uint32_t all = (mine + ranks - 1) / ranks * ranks;
  while (board.arrived.load() < all)
    ::sched_yield();
}

void pin(std::size_t number) {
  const std::vector<int> cpus = scela::allowed_cpus();
  const scela::CpuMask mask(std::vector<int>{cpus[number % cpus.size()]});
  ::sched_setaffinity(0, mask.bytes(), mask.data());
}

template <class Value>
Value median(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

using Body = std::function<void(shm::NodeLink&, Board&)>;

// Runs `body` as each rank. The first one is this process.
Board* run(std::uint32_t ranks, bool pinned, const Body& body) {
  auto* const board = static_cast<Board*>(
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto segment = shm::make_segment(shm::shape_for(ranks, 4096));
  if (!segment) {
    std::fprintf(stderr, "%s\n", segment.error().text().c_str());
    std::exit(1);
  }
  std::fflush(stdout);
  const std::vector<int> before = scela::allowed_cpus();
  std::vector<pid_t> children;
  std::uint32_t rank = 0;
  for (std::uint32_t i = 1; i < ranks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      rank = i;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the measuring process may be ended early
      break;
    }
    children.push_back(child);
  }
  if (pinned) pin(rank);
  auto link = shm::join_node(*segment, rank);
  if (!link) {
    std::fprintf(stderr, "%s\n", link.error().text().c_str());
    std::_Exit(1);
  }
  barrier(*board, ranks);
  (*link)->settle();
  barrier(*board, ranks);
  body(**link, *board);
  barrier(*board, ranks);
  if (rank != 0) std::_Exit(0);
  for (const pid_t child : children)
    ::waitpid(child, nullptr, 0);
  const scela::CpuMask mask(before);
  ::sched_setaffinity(0, mask.bytes(), mask.data());
  return board;
}

void send(shm::NodeLink& link, std::uint32_t peer, const shm::Header& header,
          std::span<const std::byte> bytes) {
  while (!link.send_small(peer, header, bytes))
    link.poll([](auto&&...) {});
}

// Returns half of the median round-trip time of batches.
double there_and_back(std::uint32_t rank, int batches, int each,
                      const std::function<void()>& once) {
  std::vector<double> times;
  for (int batch = 0; batch < batches; ++batch) {
    const std::uint64_t begin = monotonic_ns();
    for (int i = 0; i < each; ++i)
      once();
    times.push_back(static_cast<double>(monotonic_ns() - begin) / each / 2);
  }
  return rank == 0 ? median(times) : 0;
}

double floor_of(shm::NodeLink& link, Board& board, int batches, int each) {
  std::uint64_t turn = 0;
  return there_and_back(link.rank(), batches, each, [&] {
    ++turn;
    if (link.rank() == 0) {
      board.ping.store(turn, std::memory_order_release);
      while (board.pong.load(std::memory_order_acquire) != turn) {
      }
    } else {
      while (board.ping.load(std::memory_order_acquire) != turn) {
      }
      board.pong.store(turn, std::memory_order_release);
    }
  });
}

double latency_of(shm::NodeLink& link, std::size_t bytes, int batches, int each) {
  const std::uint32_t peer = 1 - link.rank();
  std::vector<std::byte> out(bytes), in(bytes);
  shm::Header header{{1, 2, 3}};
  const auto receive = [&] {
    bool done = false;
    while (!done)
      if (link.poll([&](std::uint32_t, const shm::Header& got, std::span<const std::byte> payload) {
            header.words[0] = got.words[0] + 1;
            std::memcpy(in.data(), payload.data(), payload.size());
            done = true;
          }) == 0)
        link.wait();
  };
  return there_and_back(link.rank(), batches, each, [&] {
    if (link.rank() == 0) {
      send(link, peer, header, out);
      receive();
    } else {
      receive();
      send(link, peer, header, out);
    }
  });
}

// Returns nanoseconds for each message of a stream from rank 0 to rank 1.
double rate_of(shm::NodeLink& link, std::size_t bytes, int count) {
  std::vector<std::byte> out(bytes), in(bytes);
  const std::uint64_t begin = monotonic_ns();
  int got = 0;
  const auto handle = [&](std::uint32_t, const shm::Header&, std::span<const std::byte> payload) {
    if (!payload.empty()) std::memcpy(in.data(), payload.data(), payload.size());
    ++got;
  };
  if (link.rank() == 0) {
    for (int i = 0; i < count; ++i)
      send(link, 1, {}, out);
    while (got < 1)
      if (link.poll(handle) == 0) link.wait();
  } else {
    while (got < count)
      if (link.poll(handle) == 0) link.wait();
    send(link, 0, {}, {});
  }
  return static_cast<double>(monotonic_ns() - begin) / count;
}

void two_ranks() {
  constexpr int kRounds = 5;
  const std::vector<std::size_t> sizes{0, 8, 24, 64, 256, 1024, 4096};
  Board* const board = run(2, true, [&](shm::NodeLink& link, Board& shared) {
    if (link.rank() == 0) std::printf("%s\n", link.describe().c_str());
    std::vector<double> floors;
    std::vector<std::vector<double>> found(sizes.size());
    // The measurements take turns, so that other work of the machine is in both.
    for (int round = 0; round < kRounds; ++round) {
      barrier(shared, 2);
      floors.push_back(floor_of(link, shared, 10, 1000));
      barrier(shared, 2);
      shared.ping = shared.pong = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        barrier(shared, 2);
        found[i].push_back(latency_of(link, sizes[i], 10, 1000));
      }
    }
    if (link.rank() != 0) return;
    const double least = median(floors);
    std::printf("half round trip, ns: a bare line %.0f", least);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      std::printf("; %zu bytes %.0f (%.2f)", sizes[i], median(found[i]), median(found[i]) / least);
    std::printf("; sleeps %llu\n", static_cast<unsigned long long>(link.sleeping().sleeps()));
  });
  ::munmap(board, sizeof(Board));
  ::munmap(
      run(2, true,
          [&](shm::NodeLink& link, Board& shared) {
            for (const std::size_t bytes : {std::size_t{8}, std::size_t{1024}, std::size_t{4096}}) {
              std::vector<double> times;
              for (int round = 0; round < kRounds; ++round) {
                barrier(shared, 2);
                times.push_back(rate_of(link, bytes, 50'000));
              }
              if (link.rank() != 0) continue;
              std::printf(
                  "stream of %zu bytes: %.1f ns a message, %.2f million a second, %.0f MB/s\n",
                  bytes, median(times), 1e3 / median(times),
                  static_cast<double>(bytes) * 1e3 / median(times));
            }
          }),
      sizeof(Board));
}

// Returns the medians of both, measured in turns.
std::pair<double, double> in_turns(const std::function<void()>& first,
                                   const std::function<void()>& second, int each) {
  std::vector<double> times[2];
  for (int batch = 0; batch < 18; ++batch) {
    const std::uint64_t begin = monotonic_ns();
    for (int i = 0; i < each; ++i)
      batch % 2 == 0 ? first() : second();
    // The first batch of each finds nothing in the caches.
    if (batch >= 2) times[batch % 2].push_back(static_cast<double>(monotonic_ns() - begin) / each);
  }
  return {median(times[0]), median(times[1])};
}

void large() {
  constexpr std::size_t kMax = std::size_t{4} << 20;
  ::munmap(
      run(2, true,
          [](shm::NodeLink& link, Board& shared) {
            std::vector<std::byte> bytes(kMax, std::byte(link.rank() + 1));
            if (link.rank() == 1) {
              shared.pid = ::getpid();
              shared.address = reinterpret_cast<std::uint64_t>(bytes.data());
            }
            barrier(shared, 2);
            for (std::size_t size = 65536; size <= kMax && link.rank() == 0; size *= 4) {
              const int each = static_cast<int>(kMax * 4 / size);
              const auto [link_ns, bare_ns] = in_turns(
                  [&] {
                    if (!link.copies().read_from(1, shared.address, std::span(bytes).first(size)))
                      std::abort();
                  },
                  [&] {
                    const iovec here{bytes.data(), size};
                    const iovec there{reinterpret_cast<void*>(shared.address.load()), size};
                    if (::process_vm_readv(shared.pid, &here, 1, &there, 1, 0) < 0) std::abort();
                  },
                  each);
              std::printf("copy of %zu KiB: %.1f us, %.0f MB/s; bare %.1f us (%.2f)\n", size / 1024,
                          link_ns / 1e3, static_cast<double>(size) * 1e3 / link_ns, bare_ns / 1e3,
                          bare_ns / link_ns);
            }
            barrier(shared, 2);  // by then the bytes must be there
          }),
      sizeof(Board));
}

// Sends a token of 8 bytes round the ranks.
void round_robin(std::uint32_t ranks) {
  ::munmap(
      run(ranks, false,
          [&](shm::NodeLink& link, Board& shared) {
            constexpr int kTurns = 2000;
            const std::uint32_t next = (link.rank() + 1) % link.ranks();
            std::uint64_t token = 0;
            const auto receive = [&] {
              bool done = false;
              while (!done)
                if (link.poll([&](auto&&...) { done = true; }) == 0) link.wait();
            };
            std::vector<double> times;
            for (int batch = 0; batch < 5; ++batch) {
              barrier(shared, link.ranks());
              const std::uint64_t begin = monotonic_ns();
              for (int i = 0; i < kTurns; ++i) {
                if (link.rank() == 0) send(link, next, {}, std::as_bytes(std::span(&token, 1)));
                receive();
                if (link.rank() != 0) send(link, next, {}, std::as_bytes(std::span(&token, 1)));
              }
              times.push_back(static_cast<double>(monotonic_ns() - begin) / kTurns / link.ranks());
            }
            if (link.rank() == 0)
              std::printf("round of %u ranks%s: %.2f us a step, %llu sleeps\n", link.ranks(),
                          link.crowded() ? ", crowded" : "", median(times) / 1e3,
                          static_cast<unsigned long long>(link.sleeping().sleeps()));
          }),
      sizeof(Board));
}

}  // namespace

int main(int argc, char** argv) {
  ::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc == 3 && std::string_view(argv[1]) == "round") {
    round_robin(static_cast<std::uint32_t>(std::atoi(argv[2])));
    return 0;
  }
  if (argc != 1) {
    std::fprintf(stderr, "usage: shm_latency [round RANKS]\n");
    return 2;
  }
  two_ranks();
  large();
  round_robin(4);
  round_robin(8);
}
