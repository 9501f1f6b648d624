// Tests the messages that processes exchange about connections
// (comm-channel/core/connect/handshake.h).
#include "comm-channel/core/connect/handshake.h"

#include <array>
#include <catch2/catch.hpp>

namespace handshake_test {

using namespace scela::channel::connect;

namespace {

Handshake example(HandshakeKind said) {
  Handshake shake;
  shake.secret = 0x0123456789abcdef;
  shake.said = said;
  shake.mode = Mode::owned;
  shake.own = said == HandshakeKind::connect || said == HandshakeKind::confirm ||
              said == HandshakeKind::join || said == HandshakeKind::give_up;
  shake.from.name = {0x1122334455667788, 63};
  shake.from.life = 99;
  shake.from.node = 0xAABBCCDD;
  for (std::uint8_t i = 0; i < 16; ++i)
    shake.from.address.gid[i] = i;
  shake.from.address.lid = 0x1234;
  shake.from.address.qpn = 0xfffffe;
  shake.to = {7, 0xffffffff};
  shake.to_life = 3;
  shake.number = 17;
  if (said == HandshakeKind::refuse) shake.refusal = Refusal::leaving;
  if (said == HandshakeKind::accept || said == HandshakeKind::joined) shake.srq = 5;
  if (said == HandshakeKind::accept) shake.voided = 4;
  if (said == HandshakeKind::connect || said == HandshakeKind::accept)
    shake.end = {0xffffff, 0x111111, 5, 16};
  if (said == HandshakeKind::join) shake.end.qpn = 0x77;
  return shake;
}

}  // namespace

TEST_CASE("handshake: an encoded handshake is decoded as it was, and has one length") {
  for (int said = static_cast<int>(HandshakeKind::connect);
       said <= static_cast<int>(HandshakeKind::given_up); ++said) {
    const Handshake shake = example(static_cast<HandshakeKind>(said));
    const std::string bytes = encode(shake);
    INFO(name_of(shake.said));
    CHECK(bytes.size() == kHandshakeBytes);
    const auto read = decode(bytes);
    REQUIRE(read);
    CHECK(*read == shake);
    // The example has different bytes at each place, so the test would see another order.
    CHECK(encode(*read) == bytes);
  }
}

TEST_CASE("handshake: malformed, short and long bytes are refused") {
  const std::string bytes = encode(example(HandshakeKind::accept));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(decode(std::string_view(bytes).substr(0, length)));
  CHECK_FALSE(decode(bytes + '\0'));
  std::string other = bytes;
  other[0] ^= 1;  // another version
  CHECK_FALSE(decode(other));
  other = bytes;
  constexpr std::size_t kSaid = 12;
  other = bytes;
  other[kSaid] = 0;
  CHECK_FALSE(decode(other));
  other[kSaid] = 10;
  CHECK_FALSE(decode(other));
}

TEST_CASE("handshake: a message with a needless field, or without a needed one, is refused") {
  Handshake shake = example(HandshakeKind::close);
  shake.srq = 1;
  CHECK_FALSE(decode(encode(shake)));
  shake = example(HandshakeKind::join);
  shake.end.psn = 1;
  CHECK_FALSE(decode(encode(shake)));
  shake = example(HandshakeKind::connect);
  shake.end.qpn = 0x1000000;  // numbers of queue pairs have 24 bits
  CHECK_FALSE(decode(encode(shake)));
  shake = example(HandshakeKind::connect);
  shake.own = false;
  CHECK_FALSE(decode(encode(shake)));
  shake = example(HandshakeKind::connect);
  shake.from.life = 0;
  CHECK_FALSE(decode(encode(shake)));
  shake = example(HandshakeKind::refuse);
  shake.refusal = Refusal::none;
  CHECK_FALSE(decode(encode(shake)));
  shake = example(HandshakeKind::accept);
  shake.refusal = Refusal::gone;
  CHECK_FALSE(decode(encode(shake)));
  // Two facts go with RC only: the sender is leaving, and, in a close, its queue pair is gone too.
  for (const HandshakeKind said : {HandshakeKind::close, HandshakeKind::closed}) {
    shake = example(said);
    shake.refusal = Refusal::leaving;
    CHECK_FALSE(decode(encode(shake)));
    shake.mode = Mode::pairs;
    CHECK(decode(encode(shake)) == shake);
    shake.gone = true;
    CHECK((decode(encode(shake)) == shake) == (said == HandshakeKind::close));
    shake.refusal = Refusal::none;
    CHECK((decode(encode(shake)) == shake) == (said == HandshakeKind::close));
    shake.mode = Mode::shared;
    CHECK_FALSE(decode(encode(shake)));
    shake.mode = Mode::pairs;
    shake.gone = false;
    shake.refusal = Refusal::resources;
    CHECK_FALSE(decode(encode(shake)));
    shake.refusal = Refusal::gone;
    CHECK_FALSE(decode(encode(shake)));
  }
}

TEST_CASE("handshake: a job's secrets are the bytes that were drawn, and its key is no system's") {
  std::array<std::uint8_t, kJobSecretBytes> drawn{0xff, 0xfe, 0xfd, 0xfc, 1, 2, 3, 4, 5, 6, 7, 8};
  const JobSecret word = job_secret_of(drawn);
  // If the highest bit is set, devices send another key in its place.
  CHECK(word.key == 0x7ffefdfc);
  CHECK(word.secret == 0x0102030405060708);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    drawn[i] ^= 1;
    const JobSecret other = job_secret_of(drawn);
    CHECK((other.key == word.key) == (i >= 4));
    CHECK((other.secret == word.secret) == (i < 4));
    drawn[i] ^= 1;
  }
}

TEST_CASE("handshake: a secret that differs in one bit is another") {
  constexpr std::uint64_t kSecret = 0x0123456789abcdef;
  CHECK(is_secret(kSecret, kSecret));
  for (int bit = 0; bit < 64; ++bit)
    CHECK_FALSE(is_secret(kSecret ^ std::uint64_t{1} << bit, kSecret));
}

}  // namespace handshake_test
