#include "launcher/io/gatherer.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "common/core/random.h"

namespace gatherer_test {

using namespace scela;

namespace {

std::string all(Gatherer& gatherer) {
  std::string text;
  for (;;) {
    auto piece = gatherer.next();
    if (!piece) FAIL(piece.error().text());
    if (piece->empty()) return text;
    text += *piece;
  }
}

std::string headed(const std::string& members, const std::string& text) {
  return "---------------\n" + members + "\n---------------\n" + text;
}

}  // namespace

TEST_CASE("what hosts wrote alike is told once, under their folded names") {
  Gatherer gatherer({"node1", "node2", "node3", "node4"});
  for (const Rank rank : {3u, 0u, 2u})
    REQUIRE(gatherer.add(rank, "up 3 days\n"));
  REQUIRE(gatherer.add(1, "up 1 day\n"));
  CHECK(all(gatherer) == headed("node[1,3-4] (3)", "up 3 days\n") + headed("node2", "up 1 day\n"));
}

TEST_CASE("ranks have their numbers, and those that wrote nothing are left out") {
  Gatherer gatherer({});
  for (Rank rank = 0; rank < 9; ++rank)
    REQUIRE(gatherer.add(rank, rank == 4 ? "" : "x\n"));
  CHECK(all(gatherer) == headed("0-3,5-8 (8)", "x\n"));
  Gatherer silent({});
  CHECK(all(silent).empty());
}

TEST_CASE("a last line without its end is the same line, and is ended") {
  Gatherer gatherer({});
  REQUIRE(gatherer.add(0, "a\nb"));
  REQUIRE(gatherer.add(1, "a\nb\n"));
  REQUIRE(gatherer.add(2, "a\nb\n\n"));
  CHECK(all(gatherer) == headed("0-1 (2)", "a\nb\n") + headed("2", "a\nb\n\n"));
}

TEST_CASE("what does not fit into memory comes back from the file in order") {
  Random random(7);
  for (const std::size_t memory : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    Gatherer gatherer({}, memory);
    std::vector<std::string> sent(5);
    for (int step = 0; step < 2000; ++step) {
      const auto rank = static_cast<Rank>(random.below(5));
      std::string piece;
      for (std::uint64_t n = 1 + random.below(40); n > 0; --n)
        piece += static_cast<char>('a' + random.below(26));
      piece += random.below(4) == 0 ? "\n" : "";
      sent[rank] += piece;
      REQUIRE(gatherer.add(rank, piece));
    }
    std::string expected;
    for (Rank rank = 0; rank < 5; ++rank) {
      if (sent[rank].back() != '\n') sent[rank] += '\n';
      expected += headed(std::to_string(rank), sent[rank]);
    }
    CHECK(all(gatherer) == expected);
  }
}

TEST_CASE("output that fills the disk is an error that names the place") {
  Gatherer gatherer({}, 0);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto added = gatherer.add(0, std::string(10'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(added);
  CHECK(added.error().kind == ErrorKind::io);
  CHECK(added.error().text().find("--gather") != std::string::npos);
}

}  // namespace gatherer_test
