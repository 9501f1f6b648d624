#include "nla/core/kvs/collectives.h"

#include <catch2/catch.hpp>

#include "nla/core/kvs/records.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace collectives_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;

namespace {

// Returns the first of several pieces of what `source` gives.
Chunk first_piece(Rank source, std::uint32_t destination) {
  std::string records;
  append_record(records, source, destination, 10 * kRecordPayload, 0,
                std::string(kRecordPayload, 'x'));
  return Chunk(std::move(records));
}

}  // namespace

TEST_CASE("the first piece of the job is passed on before the last has come") {
  Chain chain;
  chain.from(kParentLink, msg::JobBytes{false, Chunk(std::string(kMaxPiece, 'j'))});
  REQUIRE(chain.sent<msg::JobBytes>(1).size() == 1);
  CHECK(chain.sent<msg::JobBytes>(1)[0].bytes.size() == kMaxPiece);
}

TEST_CASE("the first piece of a transfer is passed on before the last has come") {
  Chain chain;
  chain.launch();
  const CollectiveId id{RankSet::run(0, 6), 0};
  SECTION("contributions, upwards") {
    const Chunk piece = first_piece(3, 0);
    chain.from(1, msg::CollectiveUp{id, CollectiveKind::gather, 0, false, {}, {}, piece});
    REQUIRE(chain.sent<msg::CollectiveUp>(kParentLink).size() == 1);
    CHECK(chain.sent<msg::CollectiveUp>(kParentLink)[0].records == piece);
    CHECK_FALSE(chain.sent<msg::CollectiveUp>(kParentLink)[0].last);
    CHECK(chain.agent.held_bytes() == 0);
  }
  SECTION("results, downwards") {
    const Chunk piece = first_piece(0, kEverybody);
    chain.from(kParentLink,
               msg::CollectiveDown{id, CollectiveKind::broadcast, 0, false, {}, {}, piece});
    REQUIRE(chain.sent<msg::CollectiveDown>(1).size() == 1);
    CHECK(chain.sent<msg::CollectiveDown>(1)[0].records == piece);
  }
  SECTION("results for one rank, downwards") {
    const Chunk piece = first_piece(0, 4);
    chain.from(kParentLink,
               msg::CollectiveDown{id, CollectiveKind::scatter, 0, false, {}, {}, piece});
    REQUIRE(chain.sent<msg::CollectiveDown>(1).size() == 1);
    CHECK(chain.sent<msg::CollectiveDown>(1)[0].records == piece);
    CHECK(chain.agent.held_bytes() == 0);
  }
  SECTION("messages between ranks") {
    const Chunk piece(std::string(kMaxPiece, 'p'));
    chain.from(kParentLink, msg::RoutedMessage{7, 5, 0, 10 * kMaxPiece, 0, piece});
    CHECK(chain.sent<msg::RoutedMessage>(1).size() == 1);
    chain.from(1, msg::RoutedMessage{5, 7, 0, 10 * kMaxPiece, 0, piece});
    CHECK(chain.sent<msg::RoutedMessage>(kParentLink).size() == 1);
    CHECK(chain.agent.held_bytes() == 0);
  }
}

TEST_CASE("operations on one set are numbered, those on different sets overlap") {
  Chain chain;
  chain.launch();
  const RankSet pair = RankSet::run(0, 2);
  const RankSet world = RankSet::run(0, 6);
  const auto down = [](const RankSet& set, std::uint64_t seq) {
    return msg::CollectiveDown{{set, seq}, CollectiveKind::barrier, 0, true, {}, {}, Chunk()};
  };
  // The world's first operation is open all the time, because its other members are late.
  chain.ask(0, world);
  chain.ask(1, world);
  for (std::uint64_t seq = 0; seq < 3; ++seq) {
    chain.ask(0, pair);
    CHECK(chain.sent<msg::CollectiveUp>(kParentLink).empty());
    chain.ask(1, pair);
    const auto up = chain.sent<msg::CollectiveUp>(kParentLink);
    REQUIRE(up.size() == 1);
    CHECK(up[0].id == CollectiveId{pair, seq});
    // An answer to another operation of the set does not answer this one.
    chain.from(kParentLink, down(pair, seq + 7));
    CHECK(chain.replies() == 0);
    chain.from(kParentLink, down(pair, seq));
    CHECK(chain.replies() == 2);
  }
  chain.from(1, msg::CollectiveUp{{world, 0}, CollectiveKind::barrier, 0, true, {}, {}, Chunk()});
  const auto up = chain.sent<msg::CollectiveUp>(kParentLink);
  REQUIRE(up.size() == 1);
  CHECK(up[0].id == CollectiveId{world, 0});
  CHECK(up[0].last);
  chain.from(kParentLink, down(world, 0));
  CHECK(chain.replies() == 2);
  CHECK(chain.sent<msg::CollectiveDown>(1).size() == 1);
}

}  // namespace collectives_test
