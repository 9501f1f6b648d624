// Records between nodes: they open as they were sealed, in their order, or not at all.
#include "hca/engine/peer_seal.h"

#include <catch2/catch.hpp>

#include "common/core/random.h"

namespace seal_test {

using namespace scela;
using namespace scela::hca;

namespace {

using Bytes = std::vector<std::byte>;

const std::string kSecret(32, 's');

Bytes text(std::size_t size, std::uint64_t seed = 1) {
  Random random(seed);
  Bytes made(size);
  for (std::byte& byte : made)
    byte = static_cast<std::byte>(random.next());
  return made;
}

Bytes sealed(Sealer& sealer, const Bytes& held) {
  Bytes out;
  const std::span<const std::byte> piece = held;
  REQUIRE(sealer.seal({&piece, 1}, out));
  return out;
}

std::optional<Bytes> opened(Opener& opener, std::span<const std::byte>& from) {
  Bytes room(from.size());
  const auto filled = opener.open(from, room);
  if (!filled) return std::nullopt;
  room.resize(*filled);
  return room;
}

std::optional<Bytes> opened(Opener& opener, const Bytes& from) {
  std::span<const std::byte> rest = from;
  return opened(opener, rest);
}

}  // namespace

TEST_CASE("what is sealed in pieces opens as one, however it comes") {
  const std::size_t step = GENERATE(1u, 19u, 4096u, 1'000'000u);
  Sealer sealer(kSecret);
  Opener opener(kSecret);
  Bytes wire, all;
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{4000}, kMostSealed}) {
    const Bytes held = text(size, size);
    const std::span<const std::byte> whole = held;
    const std::span<const std::byte> pieces[] = {
        whole.first(size / 3), {}, whole.subspan(size / 3)};
    REQUIRE(sealer.seal(pieces, wire));
    all.insert(all.end(), held.begin(), held.end());
  }
  CHECK(wire.size() == all.size() + 5 * kSealOverhead);
  Bytes came, found;
  for (std::size_t at = 0; at < wire.size(); at += step) {
    const std::size_t end = std::min(wire.size(), at + step);
    came.insert(came.end(), wire.begin() + static_cast<std::ptrdiff_t>(at),
                wire.begin() + static_cast<std::ptrdiff_t>(end));
    if (step == 1 && came.size() > 100 && came.size() % 997 != 0 && end < wire.size()) continue;
    std::span<const std::byte> rest = came;
    const auto held = opened(opener, rest);
    REQUIRE(held);
    found.insert(found.end(), held->begin(), held->end());
    came = Bytes(rest.begin(), rest.end());
  }
  CHECK(came.empty());
  CHECK(found == all);
}

TEST_CASE("with any bit of a record changed nothing of it is opened, and nothing after it") {
  const Bytes held = text(40);
  Sealer first(kSecret);
  const std::size_t bytes = sealed(first, held).size();
  for (std::size_t bit = 0; bit < bytes * 8; ++bit) {
    CAPTURE(bit);
    Sealer sealer(kSecret);
    Opener opener(kSecret);
    Bytes wire = sealed(sealer, held);
    const Bytes good = wire;
    wire[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    // So that a length that is too long has bytes to take.
    const Bytes more = sealed(sealer, text(kMostSealed));
    wire.insert(wire.end(), more.begin(), more.end());
    Bytes room(wire.size(), std::byte{0});
    std::span<const std::byte> rest = wire;
    const auto filled = opener.open(rest, room);
    // Only a length that says "more is to come" may still be believed, until that has come.
    if (filled) {
      CHECK(bit < 32);
      CHECK(*filled == 0);
      continue;
    }
    CHECK(room == Bytes(wire.size()));
    CHECK_FALSE(opened(opener, good));
  }
}

TEST_CASE("records left out, repeated, exchanged, cut or sent back are refused") {
  Sealer sealer(kSecret);
  Opener opener(kSecret);
  const Bytes one = sealed(sealer, text(10, 1)), two = sealed(sealer, text(10, 2));
  SECTION("left out") {
    CHECK_FALSE(opened(opener, two));
  }
  SECTION("repeated") {
    CHECK(opened(opener, one));
    CHECK_FALSE(opened(opener, one));
  }
  SECTION("exchanged") {
    Bytes wire = two;
    wire.insert(wire.end(), one.begin(), one.end());
    CHECK_FALSE(opened(opener, wire));
  }
  SECTION("cut, and another behind it") {
    Bytes wire(one.begin(), one.end() - 1);
    std::span<const std::byte> rest = wire;
    CHECK(opened(opener, rest)->empty());
    CHECK(rest.size() == wire.size());
    wire.insert(wire.end(), two.begin(), two.end());
    CHECK_FALSE(opened(opener, wire));
  }
  SECTION("to the other direction, whose secret is another") {
    Opener other(std::string(32, 'o'));
    CHECK_FALSE(opened(other, one));
  }
  SECTION("of no length, or of too much") {
    CHECK_FALSE(opened(opener, Bytes(4)));
    Opener again(kSecret);
    // 65537 bytes.
    CHECK_FALSE(opened(again, {std::byte{1}, std::byte{0}, std::byte{1}, std::byte{0}}));
  }
}

TEST_CASE("the same bytes are never sealed twice alike, and keys change at both ends") {
  Sealer sealer(kSecret, 3);
  Opener opener(kSecret, 3), late(kSecret, 4);
  const Bytes held = text(100);
  std::vector<Bytes> seen;
  for (int i = 0; i < 20; ++i) {
    const Bytes record = sealed(sealer, held);
    CHECK(std::ranges::find(seen, record) == seen.end());
    CHECK(std::search(record.begin(), record.end(), held.begin(), held.end()) == record.end());
    seen.push_back(record);
    CHECK(opened(opener, record) == held);
    if (i < 3) CHECK(opened(late, record) == held);
    if (i == 3) CHECK_FALSE(opened(late, record));  // the fourth is under the next key
  }
}

TEST_CASE("nothing, or too much, is not sealed") {
  Sealer sealer(kSecret);
  Bytes out;
  CHECK_FALSE(sealer.seal({}, out));
  const Bytes much(kMostSealed + 1);
  const std::span<const std::byte> piece = much;
  CHECK_FALSE(sealer.seal({&piece, 1}, out));
  CHECK(out.empty());
}

}  // namespace seal_test
