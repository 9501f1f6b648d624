// Tests which algorithm a table chooses, how tables are written and read, and that the built-in
// table answers every question.
#include "collectives/choice/choice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/choice/explain.h"
#include "common/core/random.h"
#include "common/core/text.h"

namespace choice_test {

using namespace scela;
using namespace scela::collectives;

namespace {

constexpr Operation kOperations[] = {
    Operation::barrier,        Operation::bcast,   Operation::reduce,    Operation::allreduce,
    Operation::gather,         Operation::scatter, Operation::allgather, Operation::alltoall,
    Operation::reduce_scatter, Operation::scan,    Operation::exscan};

Table table(std::string_view text) {
  auto parsed = Table::parse(text, "t");
  if (!parsed) FAIL(parsed.error().text());
  return *parsed;
}
std::string why(std::string_view text) {
  const auto parsed = Table::parse(text, "my.table");
  REQUIRE_FALSE(parsed);
  return parsed.error().text();
}
std::string chosen(const Table& from, const Question& question) {
  const Row* row = from.find(question);
  return row == nullptr ? "" : std::string(row->algorithm->name);
}
Question asked(Operation operation, int ranks, std::optional<std::uint64_t> bytes = 0) {
  Question question;
  question.operation = operation;
  question.ranks = ranks;
  question.bytes = bytes;
  return question;
}

// Draws a question with round numbers, or with numbers next to round ones.
Question drawn(Random& random) {
  constexpr std::uint64_t kBytes[] = {0, 1, 8, 256, 1024, 8192, 32768, 65536, 1 << 20, 1ULL << 33};
  Question question;
  question.operation = kOperations[random.below(std::size(kOperations))];
  question.ranks =
      static_cast<int>(random.chance(1, 2) ? 1 + random.below(10) : 1 + random.below(300));
  question.nodes = static_cast<int>(1 + random.below(static_cast<std::uint64_t>(question.ranks)));
  question.bytes = kBytes[random.below(std::size(kBytes))] + random.below(3);
  if (random.chance(1, 5)) question.bytes.reset();
  question.equal = random.chance(2, 3);
  question.commutes = random.chance(2, 3);
  question.in_place = random.chance(1, 3);
  question.root = static_cast<int>(random.below(static_cast<std::uint64_t>(question.ranks)));
  return question;
}

std::string drawn_range(Random& random) {
  const std::uint64_t low = random.below(1 << 17), high = low + random.below(1 << 18);
  switch (random.below(4)) {
    case 0:
      return cat(low, "..");
    case 1:
      return cat("..", high);
    case 2:
      return cat(low);
    default:
      return cat(low, "..", high);
  }
}

// Draws any row that a table may have.
std::string drawn_row(Random& random) {
  const auto all = algorithms();
  const Algorithm& algorithm = all[random.below(all.size())];
  std::string row(name_of(algorithm.operation));
  if (random.chance(1, 2)) row += cat(" ranks ", random.below(20), "..");
  if (random.chance(1, 4)) row += cat(" nodes ..", 1 + random.below(20));
  if (random.chance(1, 4)) row += cat(" per-node ", 1 + random.below(5), "..");
  if (random.chance(1, 2)) row += cat(" bytes ", drawn_range(random));
  row += cat(" ", algorithm.name);
  if (algorithm.has_segments && random.chance(1, 2))
    row += cat(" segment ", 1 + random.below(99999));
  if (algorithm.has_radix && random.chance(1, 2)) row += cat(" radix ", 2 + random.below(9));
  if (algorithm.has_split && random.chance(1, 2)) row += cat(" split ", random.below(5));
  return row;
}

}  // namespace

TEST_CASE("choice: the first row with matching conditions is taken, with both ends of a range") {
  const Table rows = table(
      "bcast ranks 3..8 bytes 1K..64K chain segment 4K\n"
      "bcast bytes ..1023 flat # short ones\n"
      "\n"
      "bcast nodes 2 k-nomial radix 4\n"
      "bcast binomial\n");
  CHECK(chosen(rows, asked(Operation::bcast, 3, 1024)) == "chain");
  CHECK(chosen(rows, asked(Operation::bcast, 8, 65536)) == "chain");
  CHECK(chosen(rows, asked(Operation::bcast, 2, 1024)) == "binomial");
  CHECK(chosen(rows, asked(Operation::bcast, 9, 1024)) == "binomial");
  CHECK(chosen(rows, asked(Operation::bcast, 3, 1023)) == "flat");
  CHECK(chosen(rows, asked(Operation::bcast, 3, 65537)) == "binomial");
  Question two_nodes = asked(Operation::bcast, 9, 65537);
  two_nodes.nodes = 2;
  CHECK(chosen(rows, two_nodes) == "k-nomial");
  CHECK(choice_of(*rows.find(two_nodes), two_nodes).radix == 4);
  CHECK(chosen(rows, asked(Operation::reduce, 3)).empty());
}

TEST_CASE(
    "choice: a message is cut into as many segments as it has, and no more than there may be") {
  const Table rows = table("bcast chain segment 4K\n");
  const auto segments = [&](std::optional<std::uint64_t> bytes) {
    const Question question = asked(Operation::bcast, 4, bytes);
    return choice_of(*rows.find(question), question).segments;
  };
  CHECK(segments(0) == 1);
  CHECK(segments(4096) == 1);
  CHECK(segments(4097) == 2);
  CHECK(segments(40960) == 10);
  CHECK(segments(1ULL << 40) == kMaxSegments);
  CHECK(segments(~std::uint64_t{0}) == kMaxSegments);
  CHECK(segments(std::nullopt) == 1);
}

TEST_CASE("choice: a row is passed over if its algorithm cannot do what is asked") {
  const Table rows = table(
      "allreduce ring\n"
      "allreduce recursive-doubling\n"
      "alltoall bruck\n"
      "alltoall pairwise\n"
      "gather bytes 8.. flat\n"
      "gather binomial\n");
  Question reduction = asked(Operation::allreduce, 5, 1 << 20);
  CHECK(chosen(rows, reduction) == "ring");
  reduction.commutes = false;
  CHECK(chosen(rows, reduction) == "recursive-doubling");
  Question exchange = asked(Operation::alltoall, 5, 8);
  CHECK(chosen(rows, exchange) == "bruck");
  exchange.equal = false;
  CHECK(chosen(rows, exchange) == "pairwise");
  // A question that does not know the size of all blocks finds no row that depends on it.
  CHECK(chosen(rows, asked(Operation::gather, 5, 8)) == "flat");
  CHECK(chosen(rows, asked(Operation::gather, 5, std::nullopt)) == "binomial");
}

TEST_CASE("choice: rows name the operations that go by nodes and the levels of a split tree") {
  const Table rows = table(
      "allreduce nodes 2.. bytes ..4K hierarchical\n"
      "allreduce bytes 8K.. reduce-bcast split 2\n"
      "allreduce recursive-doubling\n");
  Question question = asked(Operation::allreduce, 8, 4096);
  CHECK(chosen(rows, question) == "recursive-doubling");
  question.nodes = 2;
  CHECK(chosen(rows, question) == "hierarchical");
  question.commutes = false;
  CHECK(chosen(rows, question) == "recursive-doubling");
  CHECK(choice_of(*rows.find(question), question).split == 0);
  question.bytes = 8192;
  CHECK(choice_of(*rows.find(question), question).split == 2);
}

TEST_CASE("choice: rows that are put before the standard ones win, and the rest stays") {
  Table rows = Table::standard();
  rows.put_before(table("bcast bytes 7 sequential\nbcast bytes 7 flat\n"));
  CHECK(chosen(rows, asked(Operation::bcast, 5, 7)) == "sequential");
  const Question other = asked(Operation::bcast, 5, 8);
  CHECK(chosen(rows, other) == chosen(Table::standard(), other));
}

TEST_CASE("choice: errors of a table name the line and the remedy") {
  CHECK(why("\nbarrier\n") ==
        "my.table:2: read a table of algorithms: it names no algorithm (one of dissemination, "
        "hierarchical, recursive-doubling)");
  CHECK(why("broadcast flat").find("there is no operation 'broadcast'") != std::string::npos);
  CHECK(why("bcast fast").find("bcast has no algorithm 'fast' (one of binary, binomial") !=
        std::string::npos);
  for (const char* range : {"x", "8..x", "..", "8..7", "1T", "-1", "99999999999999999999", "K", ""})
    CHECK(why(cat("bcast bytes ", range, " flat")).find("is no range of bytes (8, 3..") !=
          std::string::npos);
  CHECK(why("bcast ranks 1 ranks 2 flat").find("'ranks' stands there twice") != std::string::npos);
  CHECK(why("bcast flat ranks 2").find("'ranks' behind the algorithm") != std::string::npos);
  CHECK(why("gather flat segment 4K").find("flat has no segment") != std::string::npos);
  CHECK(why("bcast flat radix 4").find("flat has no radix") != std::string::npos);
  CHECK(why("bcast flat split 1").find("flat has no split") != std::string::npos);
  CHECK(why("bcast binomial split 65").find("'65' is no split (0 to 64)") != std::string::npos);
  CHECK(why("bcast chain segment 0").find("'0' is no segment") != std::string::npos);
  CHECK(why("bcast k-nomial radix 1").find("'1' is no radix (2 to 65536)") != std::string::npos);
  CHECK(why("bcast k-nomial radix").find("'' is no radix") != std::string::npos);
}

TEST_CASE("choice: the standard table answers every question, and every row of it answers some") {
  const Table& standard = Table::standard();
  CHECK(table(standard.text()).rows() == standard.rows());
  std::set<const Row*> used;
  Random random(3);
  for (int i = 0; i < 300'000; ++i) {
    const Question question = drawn(random);
    const Row* row = standard.find(question);
    if (row == nullptr)
      FAIL("no answer for " << name_of(question.operation) << ' ' << question.ranks);
    used.insert(row);
  }
  for (const Row& row : standard.rows()) {
    CAPTURE(to_text(row));
    CHECK(used.contains(&row));
  }
}

TEST_CASE(
    "choice: no table makes an algorithm do what it cannot, and its text says the same again") {
  Random random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t row = random.below(6); row > 0; --row)
      text += cat(drawn_row(random), "\n");
    const Table rows = table(text);
    CAPTURE(text);
    REQUIRE(table(rows.text()).rows() == rows.rows());
    const Question question = drawn(random);
    const Row* row = rows.find(question);
    if (row == nullptr) continue;
    REQUIRE(row->operation == question.operation);
    REQUIRE(row->algorithm->operation == question.operation);
    REQUIRE((question.commutes || row->algorithm->any_order));
    REQUIRE((question.equal || !row->algorithm->equal_blocks));
    REQUIRE(row->ranks.holds(static_cast<std::uint64_t>(question.ranks)));
    REQUIRE(row->nodes.holds(static_cast<std::uint64_t>(question.nodes)));
    if (question.bytes) REQUIRE(row->bytes.holds(*question.bytes));
    const Choice choice = choice_of(*row, question);
    REQUIRE((choice.segments >= 1 && choice.segments <= kMaxSegments));
    Shape shape;
    shape.operation = question.operation;
    shape.ranks = question.ranks;
    shape.root = question.root;
    shape.segments = choice.segments;
    shape.radix = choice.radix;
    shape.in_place = question.in_place;
    shape.commutes = question.commutes;
    REQUIRE((choice.algorithm->fits == nullptr || choice.algorithm->fits(shape)));
  }
}

TEST_CASE("a choice that is explained is the choice that is made") {
  const std::vector<Source> sources{{"a variable", table("bcast bytes 1K..2K chain\n")},
                                    {"a file", table("bcast ranks 4.. bytes 2048 flat\n"
                                                     "allreduce bytes 64K.. ring\n")},
                                    {"built in", Table::standard()}};
  const Table all = joined(sources);
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    Question question = drawn(random);
    if (!question.bytes) question.bytes = 0;
    const std::vector<Explained> ranges = explain(sources, question);
    REQUIRE_FALSE(ranges.empty());
    CHECK(ranges.front().bytes.least == 0);
    CHECK(ranges.back().bytes.most == Range().most);
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      const Explained& one = ranges[r];
      if (r > 0) CHECK(one.bytes.least == ranges[r - 1].bytes.most + 1);
      for (const std::uint64_t bytes : {one.bytes.least, one.bytes.most}) {
        question.bytes = bytes;
        const Row* const row = all.find(question);
        REQUIRE(row != nullptr);
        CHECK(*row == one.row);
      }
    }
  }
}

TEST_CASE("the explanation of a choice names the source that made it") {
  const std::vector<Source> sources{{"SCELA_COLL_BCAST", table("bcast bytes 1K..2K chain\n")},
                                    {"built in", Table::standard()}};
  const auto ranges = explain(sources, asked(Operation::bcast, 4));
  REQUIRE(ranges.size() >= 3);
  CHECK(ranges[0].bytes == Range{0, 1023});
  CHECK(ranges[0].source->name == "built in");
  CHECK(ranges[1].bytes == Range{1024, 2048});
  CHECK(ranges[1].row.algorithm->name == "chain");
  CHECK(ranges[1].source->name == "SCELA_COLL_BCAST");
  CHECK(ranges[2].source->name == "built in");
  CHECK(explain_one(sources, asked(Operation::bcast, 4, 1500))->source == &sources[0]);
  CHECK(explain_one(sources, asked(Operation::bcast, 4, 3000))->source == &sources[1]);
}

}  // namespace choice_test
