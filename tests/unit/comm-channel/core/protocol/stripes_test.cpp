// Tests how the bytes of large messages are shared among ports.
#include "comm-channel/core/protocol/stripes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <random>

namespace scela::channel::stripes_test {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * 1024;

std::uint64_t sum(const Stripes::Shares& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
}

// Counts the bytes that go by each port as messages are cut.
struct Ports {
  Stripes stripes;
  Stripes::Shares went{};

  Stripes::Shares move(std::uint64_t bytes, unsigned usable) {
    const Stripes::Shares shares = stripes.cut(bytes, usable);
    for (std::size_t port = 0; port < kMaxPorts; ++port)
      other(port, shares[port]);
    return shares;
  }
  void other(std::size_t port, std::uint64_t bytes) {
    stripes.went(port, bytes);
    went[port] += bytes;
  }
};

TEST_CASE("channel stripes: a large message is cut evenly, a small one goes whole and in turn") {
  Ports ports;
  CHECK(ports.move(kMiB, 0b11) == Stripes::Shares{kMiB / 2, kMiB / 2});
  CHECK(ports.move(8 * kMiB, 0b1111)[3] == 8 * kMiB / 4 + kMiB / 4);
  Ports small;
  CHECK(small.move(10'000, 0b11) == Stripes::Shares{10'000, 0});
  CHECK(small.move(10'000, 0b11) == Stripes::Shares{0, 10'000});
  CHECK(small.move(10'000, 0b11) == Stripes::Shares{10'000, 0});
  CHECK(small.move(0, 0b11) == Stripes::Shares{});
}

TEST_CASE("channel stripes: bytes that went by one port are balanced by the others") {
  Ports ports;
  ports.other(0, 304 * kKiB);
  CHECK(ports.move(kMiB, 0b11) == Stripes::Shares{360 * kKiB, 664 * kKiB});
  CHECK(ports.went[0] == ports.went[1]);
  ports.other(0, kMiB);
  CHECK(ports.move(kMiB, 0b11) == Stripes::Shares{0, kMiB});
}

TEST_CASE("channel stripes: an unusable port gets nothing, and catches up within a bound") {
  Ports ports;
  for (int i = 0; i < 1000; ++i)
    CHECK(ports.move(kMiB, 0b01) == Stripes::Shares{kMiB, 0});
  std::uint64_t alone = 0;
  for (Stripes::Shares shares{}; shares[0] == 0; alone += shares[1])
    shares = ports.move(kMiB, 0b11);
  CHECK(alone <= Stripes::kMaxOwed + kMiB);
  CHECK(alone >= Stripes::kMaxOwed - kMiB);
  CHECK(ports.move(kMiB, 0b10) == Stripes::Shares{0, kMiB});
}

TEST_CASE("channel stripes: messages of any sizes leave ports within five per cent") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u);
  std::mt19937 random(seed);
  Ports ports;
  const std::size_t count = 2 + seed % 3;
  const unsigned all = (1u << count) - 1;
  std::uint64_t total = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bytes = random() >> random() % 32 & (4 * kMiB - 1);
    total += bytes;
    if (bytes <= 8192) {
      ports.other(0, bytes);
      continue;
    }
    const unsigned usable = random() % 10 == 0 ? 1u << random() % count : all;
    const Stripes::Shares shares = ports.move(bytes, usable);
    REQUIRE(sum(shares) == bytes);
    for (std::size_t port = 0; port < kMaxPorts; ++port) {
      const bool can = (usable >> port & 1) != 0;
      REQUIRE((can || shares[port] == 0));
      const bool part = shares[port] != 0 && shares[port] != bytes;
      REQUIRE((!part || bytes >= Stripes::kLeastCut));
    }
  }
  for (std::size_t port = 0; port < count; ++port) {
    CHECK(ports.went[port] * count * 100 >= total * 95);
    CHECK(ports.went[port] * count * 100 <= total * 105);
  }
}

}  // namespace
}  // namespace scela::channel::stripes_test
