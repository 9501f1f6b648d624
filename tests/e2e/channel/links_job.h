// Ranks with links to other nodes over the software adapter, in one process and without a launcher.
// Only the test reports the end of a rank, if at all. The tests of this folder use it.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm-channel/engine/operation.h"
#include "comm-channel/net/network_link.h"
#include "common/os/fd.h"
#include "tests/e2e/hca/verbs_program.h"

namespace links_test {

using namespace scela::channel;
using scela::ChannelOptions;
using scela::Counters;
using scela::test::Place;
using Clock = std::chrono::steady_clock;

inline constexpr std::chrono::seconds kUnreachableAfter{1};
inline constexpr connect::JobSecret kWord{0x1234567, 0x89abcdef01234567};

// Called with the device that a rank has opened, before the rank uses it.
using ChangeDevice = std::function<void(int rank, verbs::Device&)>;

// Three ranks on two nodes: 0, and 1 beside 2.
struct Rank final : NetworkUser {
  Rank(int rank, std::vector<std::string>& cards, verbs::Mode mode, int file,
       const ChangeDevice& change) {
    World world;
    world.rank = rank;
    world.size = 3;
    world.job = "links";
    world.node_of = {0, 1, 1};
    world.nodes = 2;
    ChannelOptions options;
    options.unreachable_after = static_cast<std::size_t>(kUnreachableAfter.count());
    auto device = verbs::open_device({.library = "scela", .device = {}});
    if (!device) FAIL(device.error().text());
    REQUIRE(device->capability.mode == mode);
    if (change) change(rank, *device);
    auto made = NetworkLink::open(world, options, kWord, std::move(*device), file);
    if (!made) FAIL(made.error().text());
    link = std::move(*made);
    link->look_up_with([&cards](int other) -> scela::Result<std::string> {
      return cards[static_cast<std::size_t>(other)];
    });
    cards[static_cast<std::size_t>(rank)] = link->address();
  }
  void arrived(int rank, const Header& header, std::span<const std::byte>) override {
    came[rank].push_back(header.tag);
  }
  void moved(Operation&, Outcome outcome) override { told = outcome; }
  void lost(int rank, const std::string& why) override { gone[rank] = why; }

  Counters counters() const {
    Counters now;
    link->add_counters(now);
    return now;
  }

  std::unique_ptr<NetworkLink> link;
  std::map<int, std::vector<int>> came;
  std::map<int, std::string> gone;
  std::optional<Outcome> told;  // the outcome of what was moved
};

struct Job {
  explicit Job(verbs::Mode mode = verbs::Mode::rc, const ChangeDevice& change = {}) {
    if (mode == verbs::Mode::rc) ::setenv("SCELA_HCA_NO_XRC", "1", 1);
    for (int rank = 0; rank < 3; ++rank)
      ranks.push_back(
          std::make_unique<Rank>(rank, cards, mode, rank == 0 ? -1 : file.get(), change));
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    ranks.clear();
    ::unsetenv("SCELA_HCA_NO_XRC");
  }
  Rank& operator[](std::size_t rank) { return *ranks[rank]; }
  void end(std::size_t rank) { ranks[rank].reset(); }

  void poll(const std::vector<std::size_t>& those) {
    for (const std::size_t rank : those)
      if (ranks[rank]) ranks[rank]->link->poll(*ranks[rank]);
  }
  // Fails the test if rank `from` has lost rank `to`: nothing more is sent to a lost rank.
  void must_reach(std::size_t from, int to) const {
    const auto lost = ranks[from]->gone.find(to);
    if (lost != ranks[from]->gone.end())
      FAIL("rank " << from << " has lost rank " << to << ": " << lost->second);
  }
  template <class Holds>
  void poll_until(const std::vector<std::size_t>& those, Holds holds) {
    if (!poll_for(30 * kUnreachableAfter, those, holds))
      FAIL("what was to come has not, though it was looked for so long");
  }
  // Polls until a rank that was doubted before would have been given up.
  void poll_on(const std::vector<std::size_t>& those) {
    poll_for(kUnreachableAfter + kUnreachableAfter / 2, those, [] { return false; });
  }
  // Polls until `holds` returns true, or for `time`. Only the time in which the ranks poll counts,
  // not the time in which they wait for a processor. Returns true if it held.
  template <class Holds>
  bool poll_for(Clock::duration time, const std::vector<std::size_t>& those, Holds holds) {
    constexpr Clock::duration kMaxOfALook = Clock::duration(kUnreachableAfter) / 10;
    Clock::duration looked{};
    for (auto last = Clock::now(); !holds();) {
      if (looked >= time) return false;
      poll(those);
      const auto now = Clock::now();
      looked += std::min(now - last, kMaxOfALook);
      last = now;
    }
    return true;
  }
  bool give(int from, int to, int tag) {
    Header header;
    header.source = from;
    header.tag = tag;
    must_reach(static_cast<std::size_t>(from), to);
    return (*this)[static_cast<std::size_t>(from)].link->send(to, header, {});
  }
  // Polls until the message is given to the device, or until an earlier message has already come
  // back.
  void begin(int from, int to, int tag) {
    const auto one = static_cast<std::size_t>(from), other = static_cast<std::size_t>(to);
    poll_until({one, other},
               [&] { return give(from, to, tag) || (*this)[one].counters().resent > 0; });
  }
  void send(int from, int to, int tag) {
    poll_until({static_cast<std::size_t>(from), static_cast<std::size_t>(to)},
               [&] { return give(from, to, tag); });
    const auto& came = (*this)[static_cast<std::size_t>(to)].came[from];
    poll_until({static_cast<std::size_t>(from), static_cast<std::size_t>(to)}, [&] {
      must_reach(static_cast<std::size_t>(from), to);
      return !came.empty() && came.back() == tag;
    });
  }

  const Place place;
  const scela::Fd file{::memfd_create("links", MFD_CLOEXEC)};  // of the second node
  std::vector<std::string> cards = std::vector<std::string>(3);
  std::vector<std::unique_ptr<Rank>> ranks;
};

template <class Made>
auto must(Made made) {
  if (!made) FAIL(made.error().text());
  return std::move(*made);
}

}  // namespace links_test
