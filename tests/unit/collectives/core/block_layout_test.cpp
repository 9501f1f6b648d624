#include "collectives/core/block_layout.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

namespace block_layout_test {

using namespace scela::collectives;

namespace {

std::vector<std::uint64_t> sizes_of(const BlockSizes& blocks) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t block = 0; block < blocks.count(); ++block)
    out.push_back(blocks.size(block));
  return out;
}

std::vector<std::uint64_t> offsets_of(const BlockSizes& blocks) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t block = 0; block < blocks.count(); ++block)
    out.push_back(blocks.offset(block));
  return out;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("equal blocks lie one behind the other") {
  const BlockSizes blocks = BlockSizes::equal(4, 6);
  CHECK(sizes_of(blocks) == Numbers{6, 6, 6, 6});
  CHECK(offsets_of(blocks) == Numbers{0, 6, 12, 18});
  CHECK(blocks.size(1, 3) == 18);
  CHECK(blocks.size(1, 0) == 0);
  CHECK(blocks.is_run(0, 4));
  CHECK(BlockSizes::equal(0, 6).count() == 0);
  CHECK(sizes_of(BlockSizes::equal(2, 0)) == Numbers{0, 0});
}

TEST_CASE("parts of a cut block begin at whole elements, the larger first, and lose nothing") {
  CHECK(sizes_of(BlockSizes::cut(40, 4, 4)) == Numbers{12, 12, 8, 8});
  CHECK(offsets_of(BlockSizes::cut(40, 4, 4)) == Numbers{0, 12, 24, 32});
  CHECK(sizes_of(BlockSizes::cut(8, 4, 4)) == Numbers{4, 4, 0, 0});
  CHECK(sizes_of(BlockSizes::cut(0, 3, 4)) == Numbers{0, 0, 0});
  CHECK(sizes_of(BlockSizes::cut(48, 4, 4)) == Numbers{12, 12, 12, 12});
  // The last part that has bytes also gets those that are no whole element.
  CHECK(sizes_of(BlockSizes::cut(10, 3, 4)) == Numbers{4, 4, 2});
  for (const std::uint64_t bytes : {1, 7, 63, 64, 65, 1000}) {
    for (const std::uint32_t count : {1, 2, 3, 7, 130}) {
      const BlockSizes blocks = BlockSizes::cut(bytes, count, 8);
      const Numbers sizes = sizes_of(blocks);
      CHECK(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) == bytes);
      CHECK(blocks.size(0, count) == bytes);
      CHECK(blocks.is_run(0, count));
      for (std::uint32_t block = 0; block < count; ++block)
        CHECK((blocks.offset(block) % 8 == 0 || blocks.size(block) == 0));
    }
  }
}

TEST_CASE("blocks of their own sizes are packed or placed, and only those that touch are a run") {
  const BlockSizes packed = BlockSizes::packed({3, 0, 5});
  CHECK(offsets_of(packed) == Numbers{0, 3, 3});
  CHECK(packed.size(0, 3) == 8);
  CHECK(packed.size(1, 2) == 5);
  CHECK(packed.is_run(0, 3));
  const BlockSizes placed = BlockSizes::placed({10, 13, 0}, {3, 4, 5});
  CHECK(sizes_of(placed) == Numbers{3, 4, 5});
  CHECK(placed.is_run(0, 2));
  CHECK(placed.size(0, 2) == 7);
  CHECK_FALSE(placed.is_run(1, 2));
  CHECK_FALSE(placed.is_run(0, 3));
  CHECK(placed.is_run(2, 1));
}

TEST_CASE("each block of a whole is cut where it lies") {
  const BlockSizes equal = BlockSizes::segmented(BlockSizes::equal(2, 16), 2, 8);
  CHECK(offsets_of(equal) == Numbers{0, 8, 16, 24});
  const BlockSizes uneven = BlockSizes::segmented(BlockSizes::equal(2, 12), 2, 8);
  CHECK(sizes_of(uneven) == Numbers{8, 4, 8, 4});
  CHECK(offsets_of(uneven) == Numbers{0, 8, 12, 20});
  const BlockSizes placed = BlockSizes::segmented(BlockSizes::placed({100, 0}, {5, 2}), 2, 1);
  CHECK(sizes_of(placed) == Numbers{3, 2, 1, 1});
  CHECK(offsets_of(placed) == Numbers{100, 103, 0, 1});
  CHECK(sizes_of(BlockSizes::segmented(placed, 1, 1)) == Numbers{3, 2, 1, 1});
}

}  // namespace block_layout_test
