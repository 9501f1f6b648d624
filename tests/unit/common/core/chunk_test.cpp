#include "common/core/chunk.h"

#include <catch2/catch.hpp>
#include <string>

namespace chunk_test {

using namespace scela;

TEST_CASE("copies and windows of a chunk share its bytes") {
  const Chunk whole(std::string(100, 'a') + "tail");
  const Chunk copy = whole;
  CHECK(copy.view().data() == whole.view().data());
  const Chunk part = whole.slice(100);
  CHECK(part.view() == "tail");
  CHECK(part.view().data() == whole.view().data() + 100);
  CHECK(part.slice(1, 2).view() == "ai");
}

TEST_CASE("a window outlives the chunk that it was cut from") {
  Chunk part;
  {
    const Chunk whole(std::string(1000, 'x') + "kept");
    part = whole.slice(1000);
  }
  CHECK(part.view() == "kept");
}

TEST_CASE("a window is clipped to its chunk") {
  const Chunk whole(std::string("abc"));
  CHECK(whole.slice(3).empty());
  CHECK(whole.slice(99).empty());
  CHECK(whole.slice(1, 99).view() == "bc");
  CHECK(Chunk().slice(1, 1).empty());
}

TEST_CASE("chunks are equal when their bytes are") {
  CHECK(Chunk(std::string("abc")) == Chunk(std::string("xabc")).slice(1));
  CHECK_FALSE(Chunk(std::string("abc")) == Chunk(std::string("abd")));
  CHECK(Chunk() == Chunk(std::string()));
}

}  // namespace chunk_test
