// Runs ranks as threads over one mapping, so that the thread sanitizer can watch them: many
// senders, messages of random sizes, and a check of each pair's order.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "comm-channel/shm/factory.h"
#include "common/core/random.h"

namespace scela::channel::shm::model_test {
namespace {

// Computes the n-th message of a pair, so that both sides know it.
struct Expected {
  Expected(std::uint32_t from, std::uint32_t to, std::uint64_t number, std::size_t most)
      : random((std::uint64_t{from} << 32 | to) * 1'000'003 + number) {
    header = {{number, from, random.next()}};
    // Most messages are small, and some have the largest size.
    const std::uint64_t kind = random.below(8);
    length = kind < 5 ? random.below(kInline + 2) : kind < 7 ? random.below(most + 1) : most;
    first = static_cast<std::uint8_t>(random.next());
  }
  std::byte at(std::size_t i) const { return static_cast<std::byte>(first + i * 7); }

  scela::Random random;
  Header header;
  std::size_t length = 0;
  std::uint8_t first = 0;
};

// The number of messages from each rank to each other rank. Under a sanitizer a step takes ten
// times as long.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kMessages = 800;
#else
constexpr std::uint64_t kMessages = 3000;
#endif

struct Run {
  SharedSegment segment;
  std::uint64_t count;  // messages from each rank to each other
  std::atomic<std::uint32_t> joined{0};
  std::atomic<std::uint32_t> settled{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> by_box{0};
};

void wait_for(const std::atomic<std::uint32_t>& counter, std::uint32_t all) {
  while (counter.load() < all)
    std::this_thread::yield();
}

void be(Run& run, std::uint32_t self, std::uint64_t seed) {
  auto joined = join_node(run.segment, self);
  if (!joined) {
    run.wrong = ~0ULL;
    return;
  }
  NodeLink& link = **joined;
  const std::uint32_t ranks = link.ranks();
  run.joined.fetch_add(1);
  wait_for(run.joined, ranks);
  link.settle();
  run.settled.fetch_add(1);
  wait_for(run.settled, ranks);

  scela::Random random(seed + self);
  std::vector<std::uint64_t> sent(ranks), got(ranks);
  std::vector<std::byte> bytes(link.most());
  std::uint64_t left_to_send = run.count * (ranks - 1), left_to_get = left_to_send;
  const auto check = [&](std::uint32_t peer, const Header& header,
                         std::span<const std::byte> payload) {
    const Expected expected(peer, self, got[peer]++, link.most());
    bool right = header == expected.header && payload.size() == expected.length;
    for (std::size_t i = 0; right && i < payload.size(); ++i)
      right = payload[i] == expected.at(i);
    if (!right) run.wrong.fetch_add(1);
    --left_to_get;
  };
  while (left_to_send != 0 || left_to_get != 0) {
    bool moved = link.poll(check) != 0;
    // The rank sends bursts to one peer, so that rings become full now and then.
    auto peer = static_cast<std::uint32_t>(random.below(ranks));
    for (std::uint64_t i = random.below(100); left_to_send != 0 && i > 0; --i) {
      while (peer == self || sent[peer] == run.count)
        peer = (peer + 1) % ranks;
      const Expected message(self, peer, sent[peer], link.most());
      for (std::size_t k = 0; k < message.length; ++k)
        bytes[k] = message.at(k);
      if (!link.send_small(peer, message.header, std::span(bytes).first(message.length))) break;
      ++sent[peer];
      --left_to_send;
      moved = true;
    }
    if (moved) continue;
    // The rank waits in both ways.
    if (random.chance(1, 2))
      link.wait();
    else
      link.sleep();
  }
  run.by_box.fetch_add(link.boxes_given());
}

std::uint64_t run_model(Shape shape, std::uint64_t count, std::uint64_t seed) {
  auto segment = make_segment(shape);
  REQUIRE(segment);
  Run run{*segment, count};
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
    threads.emplace_back([&, rank] { be(run, rank, seed); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(run.wrong.load() == 0);
  return run.by_box.load();
}

}  // namespace

TEST_CASE("shm model: random messages of many senders arrive whole, once, in each pair's order") {
  // There are more senders than boxes, so that boxes change hands, and small rings, so that they
  // become full.
  const Shape small{5, 4, 256, 2, 8, 1024};
  const Shape usual = shape_for(3, 4096);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    CHECK(run_model(small, kMessages, seed) > 0);
    CHECK(run_model(usual, kMessages, seed) > 0);
  }
}

}  // namespace scela::channel::shm::model_test
