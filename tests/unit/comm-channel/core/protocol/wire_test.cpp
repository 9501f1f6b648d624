#include "comm-channel/core/protocol/wire.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace scela::channel::wire_test {
namespace {

std::vector<std::byte> written(const Header& header, std::span<const std::byte> body,
                               std::span<const std::byte> rest = {}) {
  std::vector<std::byte> room(512);
  room.resize(write(room, header, body, rest));
  return room;
}

Header header_of_kind(Kind kind) {
  Header header;
  header.kind = kind;
  header.flags = flag::kWants;
  header.credits = 3;
  header.acks = 1;
  header.number = 0xfedc'ba98u;
  header.context = 7;
  header.tag = 0x7fff'ffff;
  header.source = 12;
  return header;
}

TEST_CASE("channel wire: a header's words are its bytes") {
  const Header header = header_of_kind(Kind::rts);
  CHECK(words_of(header) == std::bit_cast<std::array<std::uint64_t, 3>>(header));
  CHECK(words_of(Header()) == std::bit_cast<std::array<std::uint64_t, 3>>(Header()));
}

TEST_CASE("channel wire: an eager message is 24 bytes and its own, and comes as it was sent") {
  const std::array payload{std::byte{1}, std::byte{2}, std::byte{3}};
  const auto bytes = written(header_of_kind(Kind::eager), {}, payload);
  REQUIRE(bytes.size() == 24 + payload.size());
  const auto message = message_of(bytes);
  REQUIRE(message);
  CHECK(message->header.kind == Kind::eager);
  CHECK(message->header.flags == flag::kWants);
  CHECK(message->header.credits == 3);
  CHECK(message->header.acks == 1);
  CHECK(message->header.number == 0xfedc'ba98u);
  CHECK(message->header.context == 7);
  CHECK(message->header.tag == 0x7fff'ffff);
  CHECK(message->header.source == 12);
  CHECK(message->header.length == 3);
  CHECK(std::memcmp(message->payload.data(), payload.data(), 3) == 0);
  // A message may have no bytes.
  REQUIRE(message_of(written(header_of_kind(Kind::eager), {})));
}

TEST_CASE("channel wire: a message that is cut anywhere, or is too long, is refused") {
  const Rts offer{1000, 0x1234, 5, way::kRead};
  auto bytes = written(header_of_kind(Kind::rts), bytes_of(offer));
  REQUIRE(message_of(bytes));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(message_of(std::span(bytes).first(length)));
  bytes.push_back(std::byte{0});
  CHECK_FALSE(message_of(bytes));
}

TEST_CASE("channel wire: headers that cannot be are refused") {
  Header header = header_of_kind(Kind::eager);
  CHECK(is_valid(header, 0));
  CHECK_FALSE(is_valid(header, 1));
  for (const int kind : {0, kLastKind + 1, 255}) {
    header.kind = static_cast<Kind>(kind);
    CHECK_FALSE(is_valid(header, 0));
  }
  header = header_of_kind(Kind::eager);
  header.tag = kAny;
  CHECK_FALSE(is_valid(header, 0));
  header = header_of_kind(Kind::eager);
  header.source = kAny;
  CHECK_FALSE(is_valid(header, 0));
  header = header_of_kind(Kind::eager);
  header.flags = 0x80;
  CHECK_FALSE(is_valid(header, 0));
}

template <class Body>
bool reads(const Body& body) {
  return only_body_of<Body>(bytes_of(body)).has_value();
}

TEST_CASE("channel wire: messages that no transfer sends are refused") {
  CHECK(reads(Rts{1, 2, 3, way::kAll}));
  CHECK_FALSE(reads(Rts{1, 2, 3, 0}));
  CHECK_FALSE(reads(Rts{1, 2, 3, way::kAll + 1}));
  CHECK_FALSE(reads(Rts{~std::uint64_t{0}, 2, 3, way::kRead}));  // beyond the end of memory

  CHECK(reads(Cts{1, 2, 3, way::kWrite, 9, 0}));
  CHECK_FALSE(reads(Cts{1, 2, 3, way::kWrite | way::kRead, 9, 0}));
  CHECK_FALSE(reads(Cts{1, 2, 3, 0, 9, 0}));
  CHECK_FALSE(reads(Cts{1, 2, 3, 16, 9, 0}));
  CHECK_FALSE(reads(Cts{1, 2, 3, way::kWrite, 9, 1}));
  CHECK_FALSE(reads(Cts{~std::uint64_t{0}, 1, 3, way::kWrite, 9, 0}));

  CHECK(reads(Fin{5, Outcome::last, 0}));
  CHECK_FALSE(reads(Fin{5, static_cast<Outcome>(77), 0}));
  CHECK_FALSE(reads(Fin{5, Outcome::none, 1}));
  CHECK(reads(Credit{1, 2, kAsks | kAnswers, 0}));
  CHECK_FALSE(reads(Credit{1, 2, 4, 0}));
  CHECK_FALSE(reads(Credit{1, 2, 1, 1}));

  // A body is refused if it is short, or if more bytes follow where none may.
  const Fin done;
  CHECK_FALSE(only_body_of<Fin>(bytes_of(done).first(sizeof done - 1)));
  std::array<std::byte, sizeof done + 1> longer{};
  CHECK_FALSE(only_body_of<Fin>(longer));
  const auto read = body_of<Fin>(longer);
  REQUIRE(read);
  CHECK(read->rest.size() == 1);
}

TEST_CASE("channel wire: a list of parked messages has as many as it says, and not too many") {
  const std::array<Parked, 3> parked{{{10, 1, 3}, {0, 1, 4}, {~std::uint64_t{0}, 5, 9}}};
  Agreement agreement{1, 2, 40, 3, 0};
  const auto bytes =
      written(header_of_kind(Kind::left), bytes_of(agreement), std::as_bytes(std::span(parked)));
  const auto message = message_of(bytes);
  REQUIRE(message);
  const auto left = left_of(message->payload);
  REQUIRE(left);
  CHECK(left->agreement.count == 40);
  for (std::uint32_t i = 0; i < 3; ++i)
    CHECK(left->parked(i) == parked[i]);

  CHECK_FALSE(left_of(message->payload.first(message->payload.size() - 1)));
  CHECK_FALSE(left_of(message->payload.first(message->payload.size() - sizeof(Parked))));
  agreement.count = 2;  // fewer messages than are parked
  CHECK_FALSE(reads(agreement));
  agreement.count = agreement.first = kMaxParked + 1;
  CHECK_FALSE(reads(agreement));
}

TEST_CASE("channel wire: an opened channel has an address, and a refusal has none") {
  LaneEnd end;
  end.gid[15] = 7;
  end.queue_pair = 0xff'ffff;
  end.first_packet = 12;
  end.lid = 0xffff;
  end.mtu = 5;
  const auto opening = [&](Kind kind, const Agreement& agreement, const LaneEnd* where) {
    const auto bytes = written(header_of_kind(kind), bytes_of(agreement),
                               where != nullptr ? bytes_of(*where) : std::span<const std::byte>());
    return opening_of(kind, message_of(bytes).value().payload);
  };
  const Agreement longest{3, 1, 1 << 20, 0, 0}, yes{3, 1, 1, 0, 0}, no{3, 1, 0, 0, 0};
  REQUIRE(opening(Kind::open, longest, &end));
  CHECK(opening(Kind::open, longest, &end)->end == end);
  CHECK(opening(Kind::open, longest, &end)->agreement.count == 1 << 20);
  REQUIRE(opening(Kind::opened, yes, &end));
  CHECK(opening(Kind::opened, yes, &end)->end == end);
  REQUIRE(opening(Kind::opened, no, nullptr));
  CHECK_FALSE(opening(Kind::opened, no, nullptr)->end);

  CHECK_FALSE(opening(Kind::open, longest, nullptr));
  CHECK_FALSE(opening(Kind::open, no, nullptr));
  CHECK_FALSE(opening(Kind::opened, yes, nullptr));
  CHECK_FALSE(opening(Kind::opened, no, &end));
  CHECK_FALSE(opening(Kind::opened, longest, &end));
  for (int wrong = 0; wrong < 5; ++wrong) {
    LaneEnd bad = end;
    if (wrong == 0) bad.queue_pair = 1 << 24;
    if (wrong == 1) bad.first_packet = 1 << 24;
    if (wrong == 2) bad.mtu = 0;
    if (wrong == 3) bad.mtu = 6;
    if (wrong == 4) bad.unused[4] = 1;
    CHECK_FALSE(opening(Kind::open, longest, &bad));
  }
}

TEST_CASE("channel wire: nothing is written into too little room") {
  const Fin done;
  std::array<std::byte, sizeof(Header) + sizeof(Fin)> room{};
  CHECK(write(room, header_of_kind(Kind::fin), bytes_of(done)) == room.size());
  for (std::size_t length = 0; length < room.size(); ++length)
    CHECK(write(std::span(room).first(length), header_of_kind(Kind::fin), bytes_of(done)) == 0);
}

}  // namespace
}  // namespace scela::channel::wire_test
