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

TEST_CASE("equal output of hosts is shown once, under their folded names") {
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

TEST_CASE("ranks that have ended are grouped while others still write") {
  Gatherer gatherer({"n1", "n2", "n3", "n4"});
  const auto so_far = [&] {
    std::string text;
    for (const LiveGroup& group : gatherer.groups_so_far())
      text += group.members + "=" + group.first_line + ";";
    return text;
  };
  CHECK(so_far() == "");
  REQUIRE(gatherer.add(2, "same\nx"));
  gatherer.end(2);
  REQUIRE(gatherer.add(0, "same\n"));
  CHECK(so_far() == "n3=same;");
  REQUIRE(gatherer.add(0, "x\n"));
  gatherer.end(0);
  gatherer.end(3);
  CHECK(so_far() == "n[1,3] (2)=same;n4=(no output);");
  REQUIRE(gatherer.add(1, "other\n" + std::string(1000, 'y')));
  gatherer.end(1);
  CHECK(so_far() == "n[1,3] (2)=same;n2=other;n4=(no output);");
  CHECK(all(gatherer).starts_with(headed("n[1,3] (2)", "same\nx\n")));
}

TEST_CASE("differences are those from the output of the most hosts, which comes first") {
  for (const std::size_t memory : {std::size_t{0}, Gatherer::kMemory}) {
    Gatherer gatherer({"n1", "n2", "n3", "n4", "n5"}, Gatherer::Show::differences, memory);
    REQUIRE(gatherer.add(0, "a\nB\n"));
    for (const Rank rank : {1u, 2u}) {
      REQUIRE(gatherer.add(rank, "a\n"));
      REQUIRE(gatherer.add(rank, "b\n"));
    }
    REQUIRE(gatherer.add(3, ""));
    REQUIRE(gatherer.add(4, ""));
    REQUIRE(gatherer.add(4, "a\nb"));
    CHECK(all(gatherer) == headed("n[2-3,5] (3)", "a\nb\n") +
                               "--- n[2-3,5] (3)\n+++ n1\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"
                               "--- n[2-3,5] (3)\n+++ n4\n@@ -1,2 +0,0 @@\n-a\n-b\n");
  }
}

TEST_CASE("among groups of one size the lowest rank's is the majority") {
  Gatherer gatherer({}, Gatherer::Show::differences);
  for (const Rank rank : {2u, 1u, 0u, 3u})
    REQUIRE(gatherer.add(rank, rank % 2 == 0 ? "x\n" : "y\n"));
  CHECK(all(gatherer) ==
        headed("0,2 (2)", "x\n") + "--- 0,2 (2)\n+++ 1,3 (2)\n@@ -1 +1 @@\n-x\n+y\n");
  Gatherer silent({}, Gatherer::Show::differences);
  REQUIRE(silent.add(0, ""));
  CHECK(all(silent) == headed("0", ""));
}

TEST_CASE("an output that is too large to compare is shown whole") {
  const std::string large(Gatherer::kMaxCompared + 1, 'x');
  Gatherer gatherer({}, Gatherer::Show::differences);
  for (const Rank rank : {0u, 1u})
    REQUIRE(gatherer.add(rank, "x\n"));
  REQUIRE(gatherer.add(2, large));
  REQUIRE(gatherer.add(3, "y\n"));
  CHECK(all(gatherer) == headed("0-1 (2)", "x\n") + headed("2", large + "\n") +
                             "--- 0-1 (2)\n+++ 3\n@@ -1 +1 @@\n-x\n+y\n");
}

TEST_CASE("output that does not fit into memory comes back from the file in order") {
  Random random(7);
  for (const std::size_t memory : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
    Gatherer gatherer({}, Gatherer::Show::all, memory);
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
  Gatherer gatherer({}, Gatherer::Show::all, 0);
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
