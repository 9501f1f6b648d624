// Tests pieces of a fence in fewer bytes, and what a neighbour can do with that.
#include "nla/core/wire/packing.h"

#include <catch2/catch.hpp>
#include <random>

#include "cache/policy.h"
#include "common/core/text.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace packing_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;

namespace {

std::string cards(int from, int to) {
  std::string pairs;
  for (int rank = from; rank < to; ++rank) {
    cache::append_pair(
        pairs, cat("-allgather-shm-1-", rank),
        cat("2064594EEBD93509822000637577CC2B3200F8D74F000000000", rank, "F030088AE"));
  }
  return pairs;
}

std::string noise(std::size_t bytes) {
  std::mt19937 random(1);
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i)
    out += static_cast<char>(random());
  return out;
}

msg::CollectiveUp piece_up(std::string_view records, bool packed) {
  return {{RankSet::run(0, 8), 0},
          CollectiveKind::fence,
          0,
          false,
          {},
          {},
          Chunk(std::string(records)),
          packed};
}

}  // namespace

TEST_CASE("packed bytes are unpacked, and bytes that gain nothing are not packed") {
  const std::string pairs = cards(0, 500);
  const std::string packed = pack(pairs);
  REQUIRE_FALSE(packed.empty());
  CHECK(packed.size() * 3 < pairs.size());
  CHECK(unpack(packed) == pairs);
  CHECK(pack(noise(60000)).empty());
  CHECK(pack(std::string(kPackFrom - 1, 'a')).empty());
  CHECK(unpack(pack(std::string(kPackFrom, 'a'))) == std::string(kPackFrom, 'a'));
}

TEST_CASE("bytes that are not packed are refused, and cannot claim more than packing allows") {
  const std::string packed = pack(cards(0, 100));
  for (std::size_t size = 0; size < packed.size(); ++size)
    CHECK(unpack(packed.substr(0, size)) == std::nullopt);
  CHECK(unpack(packed + 'x') == std::nullopt);
  CHECK(unpack(std::string("\xff\xff\xff\xff\x07") + packed) == std::nullopt);
  std::string bomb = pack(std::string(kMaxPiece, 'a'));
  REQUIRE_FALSE(bomb.empty());
  CHECK(unpack(bomb)->size() == kMaxPiece);
  CHECK(pack(std::string(kMaxPiece + 1, 'a')).empty());
  bomb.replace(0, 3, std::string("\x81\x80\x04", 3));  // one byte more
  CHECK(unpack(bomb) == std::nullopt);
  const std::string random = noise(4096);
  for (std::size_t at = 0; at + 64 < random.size(); ++at) {
    const auto plain = unpack(std::string_view(random).substr(at, 64));
    if (plain) CHECK(plain->size() <= std::size_t{255} * 64);
  }
}

TEST_CASE("a fence's pieces travel packed, and are not packed again on their way") {
  Chain chain;
  chain.launch();
  const std::string large = pack(cards(0, 700));
  chain.from(1, piece_up(large, true));
  REQUIRE(chain.sent<msg::CollectiveUp>(kParentLink).size() == 1);
  CHECK(chain.sent<msg::CollectiveUp>(kParentLink)[0].packed);
  CHECK(chain.sent<msg::CollectiveUp>(kParentLink)[0].records.view() == large);
  // Small pieces are merged, and the whole is packed.
  msg::CollectiveUp last = piece_up(pack(cards(700, 750)), true);
  last.last = true;
  chain.from(1, last);
  CHECK(chain.sent<msg::CollectiveUp>(kParentLink).empty());
  for (const Rank rank : {Rank{0}, Rank{1}}) {
    chain.give(event::Asked{rank, 1, ask::Put{cat("of ", rank), Chunk(std::string("here"))}});
    ask::Collective fence;
    fence.kind = CollectiveKind::fence;
    fence.set = RankSet::run(0, 8);
    chain.give(event::Asked{rank, 2, fence});
  }
  REQUIRE(chain.sent<msg::CollectiveUp>(kParentLink).size() == 1);
  const msg::CollectiveUp merged = chain.sent<msg::CollectiveUp>(kParentLink)[0];
  CHECK(merged.packed);
  const std::string own = unpack(merged.records.view()).value().substr(cards(700, 750).size());
  CHECK(own.find("of 0") != std::string::npos);

  msg::CollectiveDown down{{RankSet::run(0, 8), 0},
                           CollectiveKind::fence,
                           0,
                           true,
                           {},
                           {},
                           Chunk(pack(cards(0, 99))),
                           true};
  SECTION("the release is committed") {
    chain.from(kParentLink, down);
    REQUIRE(chain.sent<msg::CollectiveDown>(1).size() == 1);
    CHECK(chain.sent<msg::CollectiveDown>(1)[0].records == down.records);
    chain.give(event::Asked{0, 3, ask::Get{"-allgather-shm-1-42", false}});
    CHECK(chain.replies() == 1);
    CHECK(chain.reply().found);
  }
  SECTION("a damaged one fails the fence") {
    down.records = down.records.slice(0, down.records.size() - 1);
    chain.from(kParentLink, down);
    CHECK(chain.replies() == 2);
    CHECK_FALSE(chain.reply().ok);
    CHECK(chain.reply().error == "a part of what it carried was damaged");
  }
}

TEST_CASE("packed bytes that are none, or where none may be, break the protocol") {
  Chain chain;
  chain.launch();
  SECTION("damaged") {
    chain.from(1, piece_up(pack(cards(0, 100)).substr(1), true));
  }
  SECTION("of no pairs") {
    chain.from(1, piece_up(pack(std::string(4096, '\xff')), true));
  }
  SECTION("of another operation") {
    msg::CollectiveUp up = piece_up(pack(cards(0, 100)), true);
    up.kind = CollectiveKind::gather;
    chain.from(1, up);
  }
  SECTION("a clock of another operation") {
    chain.from(
        1, msg::CollectiveUp{
               {RankSet::run(0, 8), 0}, CollectiveKind::barrier, 0, true, {}, {}, {}, false, 1});
  }
  SECTION("a clock before the last word") {
    msg::CollectiveUp up = piece_up(cards(0, 1), false);
    up.clock = 1;
    chain.from(1, up);
  }
  SECTION("a stamp that says nothing") {
    std::string pair;
    cache::append_pair(pair, "key", "value", 1);
    pair[1] = 0;
    chain.from(1, piece_up(pair, false));
  }
  CHECK(chain.closed(1));
}

}  // namespace packing_test
