#include "hca/core/model/arena.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "common/core/random.h"

namespace arena_test {

using namespace scela;
using namespace scela::hca;

namespace {

// The sizes are small, so that chunks fill up soon.
constexpr Arena::Sizes kSizes{1024, 4096, 512, 32 * 1024};

}  // namespace

TEST_CASE("pieces of an arena are aligned and stand one behind the other") {
  Arena arena(kSizes);
  const auto first = arena.take(1);
  const auto second = arena.take(100);
  const auto third = arena.take(64);
  REQUIRE((first && second && third));
  CHECK(first->chunk == 0);
  CHECK(first->offset == 0);
  CHECK(first->bytes == 64);
  CHECK(second->offset == 64);
  CHECK(second->bytes == 128);
  CHECK(third->offset == 192);
  CHECK(first->new_chunk_bytes == 0);
  CHECK(arena.used() == 256);
}

TEST_CASE("a piece that does not fit a full chunk goes to a new one, larger if needed") {
  Arena arena(kSizes);
  REQUIRE(arena.take(1024));
  const auto next = arena.take(64);
  REQUIRE(next);
  CHECK(next->chunk == 1);
  CHECK(next->offset == 0);
  CHECK(next->new_chunk_bytes == 4096);
  const auto large = arena.take(4097);
  REQUIRE(large);
  CHECK(large->chunk == 2);
  CHECK(large->new_chunk_bytes == 4608);
  CHECK(arena.take(64)->chunk == 1);
  CHECK(arena.bytes() == 1024 + 4096 + 4608);
}

TEST_CASE("a chunk that was made for one large piece goes with it, and its number too") {
  Arena arena(kSizes);
  const auto large = arena.take(8192);
  REQUIRE(large);
  REQUIRE(large->chunk == 1);
  CHECK(arena.give_back(1, 0) == Arena::Returned::chunk_gone);
  CHECK_FALSE(arena.has(1));
  CHECK(arena.bytes() == 1024);
  CHECK(arena.used() == 0);
  CHECK(arena.take(8192)->chunk == 2);
}

TEST_CASE("nothing else stands in the chunk of a large piece, and so it goes with that") {
  Arena arena(kSizes);
  const auto large = arena.take(kSizes.usual + 64);
  REQUIRE(large);
  REQUIRE(large->new_chunk_bytes > large->bytes);
  for (int i = 0; i < 100; ++i)
    if (const auto small = arena.take(64)) CHECK(small->chunk != large->chunk);
  CHECK(arena.give_back(large->chunk, large->offset) == Arena::Returned::chunk_gone);
}

TEST_CASE("a chunk that could not be made is as if it was never asked for") {
  Arena arena(kSizes);
  const auto large = arena.take(8192);
  REQUIRE(large);
  arena.forget(*large);
  CHECK(arena.bytes() == 1024);
  CHECK(arena.used() == 0);
  CHECK(arena.take(8192)->chunk == 1);
}

TEST_CASE("an arena does not grow beyond its bound") {
  Arena arena(kSizes);
  CHECK_FALSE(arena.take(32 * 1024));
  CHECK_FALSE(arena.take(~0ULL));
  CHECK_FALSE(arena.take(~0ULL - 62));
  CHECK_FALSE(arena.take(0));
  std::uint64_t taken = 0;
  while (arena.take(4096))
    taken += 4096;
  CHECK(taken == 28 * 1024);
  CHECK(arena.take(1024));
}

TEST_CASE("a returned piece joins its free neighbours") {
  Arena arena(kSizes);
  REQUIRE(arena.take(128));
  REQUIRE(arena.take(128));
  REQUIRE(arena.take(128));
  CHECK(arena.give_back(0, 128) == Arena::Returned::free);
  CHECK(arena.give_back(0, 0) == Arena::Returned::free);
  const auto both = arena.take(256);
  REQUIRE(both);
  CHECK(both->offset == 0);
  CHECK(both->used_before == 256);
  CHECK(arena.give_back(0, 256) == Arena::Returned::free);
  const auto longer = arena.take(256);
  REQUIRE(longer);
  CHECK(longer->offset == 256);
  CHECK(longer->used_before == 128);  // no user wrote behind that yet
}

TEST_CASE("only a piece can be given back, and only once") {
  Arena arena(kSizes);
  REQUIRE(arena.take(128));
  CHECK(arena.give_back(0, 64) == Arena::Returned::unknown);
  CHECK(arena.give_back(1, 0) == Arena::Returned::unknown);
  CHECK(arena.give_back(0, 0) == Arena::Returned::free);
  CHECK(arena.give_back(0, 0) == Arena::Returned::unknown);
  CHECK(arena.used() == 0);
}

TEST_CASE("pieces of an arena never overlap, and all of it is free again at the end") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  Random random(seed);
  Arena arena(kSizes);
  struct Piece {
    std::uint32_t chunk;
    std::uint64_t offset, bytes;
  };
  std::vector<Piece> taken;
  std::map<std::uint32_t, std::uint64_t> chunks{{0, kSizes.first}};
  for (int step = 0; step < 20'000; ++step) {
    if (taken.empty() || random.below(100) < 55) {
      const auto piece = arena.take(1 + random.below(random.below(8) == 0 ? 9000 : 700));
      if (!piece) continue;
      if (piece->new_chunk_bytes != 0) {
        REQUIRE(chunks.emplace(piece->chunk, piece->new_chunk_bytes).second);
      }
      REQUIRE(piece->offset % 64 == 0);
      REQUIRE(piece->offset + piece->bytes <= chunks.at(piece->chunk));
      for (const Piece& other : taken) {
        REQUIRE((other.chunk != piece->chunk || other.offset + other.bytes <= piece->offset ||
                 piece->offset + piece->bytes <= other.offset));
      }
      taken.push_back({piece->chunk, piece->offset, piece->bytes});
    } else {
      const std::size_t which = random.below(taken.size());
      const Piece piece = taken[which];
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
      const auto returned = arena.give_back(piece.chunk, piece.offset);
      REQUIRE(returned != Arena::Returned::unknown);
      if (returned == Arena::Returned::chunk_gone) chunks.erase(piece.chunk);
    }
    REQUIRE(arena.bytes() <= kSizes.most);
  }
  for (const Piece& piece : taken)
    REQUIRE(arena.give_back(piece.chunk, piece.offset) != Arena::Returned::unknown);
  CHECK(arena.used() == 0);
  CHECK(arena.take(kSizes.first)->offset == 0);
}

}  // namespace arena_test
