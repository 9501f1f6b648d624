// Tests which ranks communicate.
#include "perf/core/patterns.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "perf/together.h"

namespace scela::perf::patterns_test {
namespace {

TEST_CASE("perf patterns: partners are ranks, in pairs, and every rank is reached") {
  for (const std::string_view name : kPatterns)
    for (const int ranks : {1, 2, 4, 8, 9, 16, 32, 36, 64}) {
      if (!fits(name, ranks)) continue;
      INFO(name << " on " << ranks);
      std::set<int> reached{0};
      for (int times = 0; times < ranks; ++times)
        for (const int rank : std::set<int>(reached))
          reached.merge(partners(name, rank, ranks));
      CHECK(static_cast<int>(reached.size()) == ranks);
      for (int rank = 0; rank < ranks; ++rank)
        for (const int partner : partners(name, rank, ranks)) {
          CHECK(partner >= 0);
          CHECK(partner < ranks);
          CHECK(partner != rank);
          CHECK(partners(name, partner, ranks).count(rank) == 1);
        }
    }
}

TEST_CASE("perf patterns: a benchmark runs on so many ranks as its sources allow") {
  CHECK(fits("BT", 36));
  CHECK_FALSE(fits("BT", 32));
  CHECK(fits("CG", 32));
  CHECK_FALSE(fits("MG", 36));
  CHECK(fits("all", 7));
  CHECK(fits("EP", 7));
}

// The average peers for which a rank of 64 on 8 nodes has queue pairs, with RC and with XRC (Table
// 4.2).
struct Table {
  double peers = 0, nodes = 0;
};
Table table_of(std::string_view name) {
  Table table;
  for (int rank = 0; rank < 64; ++rank) {
    std::set<int> elsewhere, nodes;
    for (const int partner : partners(name, rank, 64))
      if (partner / 8 != rank / 8) {
        elsewhere.insert(partner);
        nodes.insert(partner / 8);
      }
    table.peers += static_cast<double>(elsewhere.size()) / 64;
    table.nodes += static_cast<double>(nodes.size()) / 64;
  }
  return table;
}

TEST_CASE("perf patterns: queue pairs of a rank as Table 4.2 has them, by RC and by XRC") {
  // The table's FT and IS leave out ranks that never had a message. SP has BT's pattern here.
  struct Row {
    const char* name;
    double rc, xrc, by;
  };
  for (const Row& row :
       {Row{"BT", 6.06, 4.06, 0.1}, Row{"CG", 3.84, 3.5, 0.1}, Row{"EP", 3, 3, 0},
        Row{"FT", 55.91, 6.95, 0.1}, Row{"IS", 53.16, 6.98, 2.9}, Row{"LU", 3.81, 3.81, 0.1},
        Row{"MG", 4.98, 4, 0.1}, Row{"SP", 6.06, 3.73, 0.35}}) {
    const Table table = table_of(row.name);
    INFO(row.name << " " << table.peers << " " << table.nodes);
    CHECK(std::abs(table.peers - row.rc) <= row.by + 1e-9);
    CHECK(std::abs(table.nodes - row.xrc) <= row.by + 1e-9);
  }
}

// Ranks take turns, which is enough to see which ranks communicate. A message stays until it is
// received, and a rank tries again if what it receives was not sent yet.
struct Wires {
  std::map<std::pair<int, int>, std::vector<std::vector<char>>> sent;
  std::set<std::pair<int, int>> used;
};
struct NotYet {};
struct Wired {
  Wires& wires;
  int own, all;
  std::map<std::pair<int, int>, std::size_t> received;
  std::set<int> said;
  int rank() const { return own; }
  int size() const { return all; }
  void send_aside(int peer, const void* bytes, std::size_t n) {
    const char* const at = static_cast<const char*>(bytes);
    if (said.insert(peer).second) wires.sent[{own, peer}].emplace_back(at, at + n);
    wires.used.insert({own, peer});
  }
  void recv_aside(int peer, void* bytes, std::size_t n) {
    const auto& messages = wires.sent[{peer, own}];
    if (messages.empty()) throw NotYet();
    REQUIRE(messages.front().size() == n);
    std::copy(messages.front().begin(), messages.front().end(), static_cast<char*>(bytes));
  }
};

TEST_CASE("perf patterns: what all tell rank 0, and rank 0 all, goes to partners alone, in order") {
  for (const int ranks : {1, 2, 3, 6, 8, 13}) {
    Wires up, down;
    std::vector<bool> done(static_cast<std::size_t>(ranks)), told = done;
    for (int times = 0; times <= ranks; ++times)
      for (int rank = ranks - 1; rank >= 0; --rank) {
        const auto place = static_cast<std::size_t>(rank);
        try {
          Wired peer{up, rank, ranks, {}, {}};
          if (!done[place]) {
            const std::vector<int> all = gather_at_0(peer, 100 + rank);
            for (int other = 0; rank == 0 && other < ranks; ++other)
              CHECK(all.at(static_cast<std::size_t>(other)) == 100 + other);
            done[place] = true;
          }
          Wired below{down, rank, ranks, {}, {}};
          int value = rank == 0 ? 7 : 0;
          if (!told[place]) {
            broadcast_from_0(below, value);
            CHECK(value == 7);
            told[place] = true;
          }
        } catch (const NotYet&) {
        }
      }
    CHECK(std::ranges::count(done, true) == ranks);
    CHECK(std::ranges::count(told, true) == ranks);
    for (const Wires* const wires : {&up, &down})
      for (const auto& [from, to] : wires->used)
        CHECK(partners("EP", from, ranks).count(to) == 1);
  }
}

}  // namespace
}  // namespace scela::perf::patterns_test
