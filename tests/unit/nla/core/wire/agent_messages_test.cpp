#include "nla/core/wire/agent_messages.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <variant>

#include "common/core/bytes.h"
#include "tests/unit/nla/core/wire/samples.h"

namespace agent_messages_test {

using namespace scela;
using namespace scela::nla;

namespace {

constexpr std::size_t kKinds = std::variant_size_v<MessageKinds>;

Frame frame_of(const Message& message) {
  const Encoded encoded = encode(message);
  FrameDecoder decoder;
  decoder.feed(encoded.head);
  decoder.feed(encoded.tail.view());
  auto frame = decoder.next();
  REQUIRE(frame.has_value());
  REQUIRE(frame->has_value());
  REQUIRE(decoder.at_boundary());
  REQUIRE(encoded.size() == kFrameHeader + (*frame)->payload.size());
  return **frame;
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

bool is_error(std::uint8_t kind, std::string payload) {
  const auto got = decode(Frame{kind, std::move(payload)});
  if (!got) CHECK(got.error().kind == ErrorKind::protocol);
  return !got.has_value();
}

}  // namespace

TEST_CASE("every message comes back as it was sent") {
  Random random(1);
  for (std::size_t index = 0; index < kKinds; ++index) {
    for (int round = 0; round < 200; ++round) {
      const Message sent = samples::message(random, index);
      const Frame frame = frame_of(sent);
      REQUIRE(frame.kind == index + 1);
      const auto got = decode(frame);
      INFO(name_of(sent));
      REQUIRE(got.has_value());
      REQUIRE(samples::same(*got, sent));
    }
  }
}

TEST_CASE("every truncation of every message is an error or another message") {
  Random random(2);
  for (std::size_t index = 0; index < kKinds; ++index) {
    for (int round = 0; round < 10; ++round) {
      const Message sent = samples::message(random, index);
      const Frame frame = frame_of(sent);
      for (std::size_t length = 0; length < frame.payload.size(); ++length) {
        const auto got = decode(Frame{frame.kind, frame.payload.substr(0, length)});
        INFO(name_of(sent) << " cut to " << length << " of " << frame.payload.size());
        if (got) REQUIRE_FALSE(samples::same(*got, sent));
      }
    }
  }
}

TEST_CASE("bytes behind the last field are an error, or part of the chunk that ends the message") {
  Random random(3);
  for (std::size_t index = 0; index < kKinds; ++index) {
    const Message sent = samples::message(random, index);
    const Encoded encoded = encode(sent);
    Frame frame = frame_of(sent);
    frame.payload += '\0';
    const auto got = decode(frame);
    INFO(name_of(sent));
    if (got) {
      REQUIRE_FALSE(samples::same(*got, sent));
      REQUIRE(encode(*got).tail.size() == encoded.tail.size() + 1);
    } else {
      CHECK(got.error().why.find("1 bytes follow") != std::string::npos);
      CHECK(got.error().what.find(name_of(sent)) != std::string::npos);
    }
  }
}

TEST_CASE("random and damaged payloads of every kind are decoded without harm") {
  Random random(4);
  for (int round = 0; round < 40000; ++round) {
    Frame frame;
    if (random.chance(1, 2)) {
      frame = {static_cast<std::uint8_t>(random.below(256)), samples::text(random, 60)};
    } else {
      frame = frame_of(samples::message(random, random.below(kKinds)));
      for (std::uint64_t i = random.between(1, 3); i > 0 && !frame.payload.empty(); --i) {
        frame.payload[random.below(frame.payload.size())] = static_cast<char>(random.next());
      }
    }
    const auto got = decode(frame);
    if (!got) continue;
    const auto again = decode(frame_of(*got));  // what was accepted can be forwarded
    REQUIRE(again.has_value());
    REQUIRE(samples::same(*again, *got));
  }
}

TEST_CASE("the bytes of a message are those of the protocol, pinned") {
  CHECK(hex(encode(msg::Signal{15}).head) ==
        "0104000004000000"
        "0f000000");
  CHECK(hex(encode(msg::Shutdown{}).head) == "0106000000000000");
  CHECK(hex(encode(msg::Resize{{40, 300, 0, 1}}).head) ==
        "0120000008000000"
        "2800"
        "2c01"
        "0000"
        "0100");
  msg::CollectiveUp up;
  up.id = {RankSet::run(2, 300), 5};
  up.kind = CollectiveKind::fence;
  up.last = true;
  up.clock = 300;
  up.records = Chunk(std::string("rec"));
  const Encoded encoded = encode(up);
  CHECK(hex(encoded.head) ==
        "0112000011000000"
        "01"
        "02"
        "ab02"
        "05"
        "00"
        "01"
        "00"
        "01"
        "00"
        "00"
        "00"
        "ac02");
  CHECK(encoded.tail.view() == "rec");
}

TEST_CASE("the last bytes of a message are shared on the way out and a window on the way in") {
  const Chunk bytes(std::string(kMaxPiece, 'b'));
  const Encoded encoded = encode(msg::Output{3, Stream::err, false, bytes});
  CHECK(encoded.tail.view().data() == bytes.view().data());
  CHECK(encoded.size() <= kMaxPayload);

  Frame frame = frame_of(msg::Output{3, Stream::err, false, bytes});
  const char* const payload = frame.payload.data();
  const std::size_t size = frame.payload.size();
  const auto got = decode(std::move(frame));
  REQUIRE(got.has_value());
  const std::string_view window = std::get<msg::Output>(*got).bytes.view();
  CHECK(window == bytes.view());
  CHECK(window.data() == payload + (size - kMaxPiece));
}

TEST_CASE("a largest piece fits a frame in every message that carries one") {
  const Chunk piece(std::string(kMaxPiece, 'p'));
  RankSet scattered;
  for (Rank rank = 0; rank < 2000; rank += 2)
    scattered.add(rank);
  msg::CollectiveUp up;
  up.id.set = scattered;
  up.records = piece;
  for (const Message& message : {Message(msg::SliceHosts{false, piece}),
                                 Message(msg::RoutedMessage{1, 2, 3, 4, 5, piece}), Message(up)}) {
    CHECK(samples::same(decode(frame_of(message)).value(), message));
  }
}

TEST_CASE("an unknown kind of message is an error that names it") {
  for (const std::size_t kind : {std::size_t{0}, kKinds + 1, std::size_t{255}}) {
    const auto got = decode(Frame{static_cast<std::uint8_t>(kind), ""});
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error().kind == ErrorKind::protocol);
    CHECK(got.error().why.find("kind is " + std::to_string(kind)) != std::string::npos);
  }
}

TEST_CASE("enumerations, flags and slices outside their range are errors") {
  const auto with = [](const Message& message, std::size_t at, char value) {
    Frame frame = frame_of(message);
    frame.payload.at(at) = value;
    return is_error(frame.kind, frame.payload);
  };
  const msg::Output output{1, Stream::out, false, Chunk()};
  CHECK_FALSE(with(output, 1, 1));
  CHECK(with(output, 1, 2));  // stream
  CHECK_FALSE(with(output, 2, 1));
  CHECK(with(output, 2, 2));  // flag
  CHECK_FALSE(with(msg::NodeFailed{1, StartPhase::connect, ""}, 1, 6));
  CHECK(with(msg::NodeFailed{1, StartPhase::connect, ""}, 1, 7));
  CHECK_FALSE(with(msg::ProcessFail{1, {}}, 1, 9));
  CHECK(with(msg::ProcessFail{1, {}}, 1, 10));
  CHECK_FALSE(with(msg::Log{}, 0, 3));
  CHECK(with(msg::Log{}, 0, 4));
  CHECK_FALSE(with(msg::Log{}, 1, 7));
  CHECK(with(msg::Log{}, 1, 8));
  CHECK_FALSE(with(msg::CollectiveUp{}, 3, 6));
  CHECK(with(msg::CollectiveUp{}, 3, 7));
  msg::Start start;
  start.slice = {9, 9};
  CHECK_FALSE(with(start, 4, 9));
  CHECK(with(start, 4, 8));  // ends before it begins
}

TEST_CASE("a count of verdicts that the bytes cannot hold is an error") {
  ByteWriter out;
  out.varint(std::uint64_t{1} << 60);
  out.raw(std::string(20, '\0'));
  CHECK(is_error(static_cast<std::uint8_t>(Message(msg::Verdicts{}).index() + 1), out.take()));
}

TEST_CASE("a message of another protocol version is read, so that the agent can name both") {
  msg::Hello hello;
  hello.version = 77;
  CHECK(std::get<msg::Hello>(decode(frame_of(hello)).value()).version == 77);
  msg::Start start;
  start.version = 78;
  CHECK(std::get<msg::Start>(decode(frame_of(start)).value()).version == 78);
}

TEST_CASE("every message has a name of its own") {
  std::set<std::string_view> names;
  Random random(5);
  for (std::size_t index = 0; index < kKinds; ++index)
    names.insert(name_of(samples::message(random, index)));
  CHECK(names.size() == kKinds);
  CHECK(name_of(msg::Start{}) == "Start");
  CHECK(name_of(msg::CollectiveDown{}) == "CollectiveDown");
  CHECK(name_of(msg::StdinTaken{}) == "StdinTaken");
  CHECK(name_of(msg::PeersFailed{}) == "PeersFailed");
  CHECK(name_of(StartPhase::start_agent) == "start agent");
  CHECK(name_of(CollectiveKind::allgather) == "allgather");
}

}  // namespace agent_messages_test
