#include "hca/engine/memory/chunks.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

namespace chunks_test {

using namespace scela;
using namespace scela::hca;

namespace {

// Returns the memory as the process at the other end maps it.
SealedMemory mapped_by_other(int descriptor) {
  auto attached = SealedMemory::attach(Fd(::dup(descriptor)), SealedMemory::Writers::all);
  REQUIRE(attached);
  return std::move(*attached);
}

bool all_zero(const std::byte* at, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i)
    if (at[i] != std::byte{0}) return false;
  return true;
}

}  // namespace

TEST_CASE("both sides see the process's page at the start of chunk 0, and pieces where they are") {
  auto chunks = Chunks::make();
  REQUIRE(chunks);
  const Host::Shared piece = chunks->allocate(1000);
  REQUIRE(piece.base != nullptr);
  const auto descriptors = chunks->new_descriptors();
  REQUIRE(descriptors.size() == 1);
  const SealedMemory other = mapped_by_other(descriptors[0]);
  chunks->handed_over();
  CHECK(chunks->new_descriptors().empty());
  CHECK(other.bytes() == 256 * 1024);

  auto* const page = static_cast<ProcessPage*>(other.base());
  CHECK(page->magic == kLayoutMagic);
  CHECK(page->version == kLayoutVersion);
  page->summary.store(5);
  CHECK(chunks->page().summary.load() == 5);

  CHECK(piece.region.chunk == 0);
  CHECK(piece.region.offset >= sizeof(ProcessPage));
  CHECK(piece.region.offset % 64 == 0);
  CHECK(piece.region.bytes == 1000);
  std::memcpy(piece.base, "here", 4);
  CHECK(std::memcmp(static_cast<char*>(other.base()) + piece.region.offset, "here", 4) == 0);
}

TEST_CASE("memory that was used before is zeros when it is handed out again") {
  auto chunks = Chunks::make();
  REQUIRE(chunks);
  for (const std::uint64_t bytes : {100u, 5000u, 100'000u}) {
    const Host::Shared first = chunks->allocate(bytes);
    REQUIRE(first.base != nullptr);
    std::memset(first.base, 0xff, bytes);
    chunks->release(first.region);
    const Host::Shared second = chunks->allocate(bytes);
    REQUIRE(second.base == first.base);
    CHECK(all_zero(second.base, bytes));
    chunks->release(second.region);
  }
  CHECK(chunks->used() == 4096);  // only the page
}

TEST_CASE("a piece that no chunk has room for comes with a chunk of its own, which goes with it") {
  auto chunks = Chunks::make();
  REQUIRE(chunks);
  chunks->handed_over();
  const std::uint64_t before = chunks->bytes();
  const Host::Shared large = chunks->allocate(3u << 20);
  REQUIRE(large.base != nullptr);
  CHECK(large.region.chunk == 1);
  REQUIRE(chunks->new_descriptors().size() == 1);
  CHECK(mapped_by_other(chunks->new_descriptors()[0]).bytes() == 3u << 20);
  SECTION("handed over") {
    chunks->handed_over();
    chunks->release(large.region);
  }
  SECTION("gone before it was handed over: the process counts it all the same") {
    chunks->release(large.region);
    REQUIRE(chunks->new_descriptors().size() == 1);
    chunks->handed_over();
  }
  CHECK(chunks->bytes() == before);
  CHECK(chunks->allocate(3u << 20).region.chunk == 2);
}

TEST_CASE("one process cannot have more than its share, and its page is not given back") {
  auto chunks = Chunks::make();
  REQUIRE(chunks);
  CHECK(chunks->allocate(1u << 30).base == nullptr);
  CHECK(chunks->allocate(~0ULL).base == nullptr);
  CHECK(chunks->allocate(0).base == nullptr);
  chunks->release({0, 0, 0, 4096});
  chunks->release({7, 0, 0, 64});
  CHECK(chunks->used() == 4096);
}

}  // namespace chunks_test
