#include "common/core/frame.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/core/random.h"

namespace frame_test {

using namespace scela;

namespace {

std::string frame(std::uint8_t kind, const std::string& payload) {
  return frame_header(kind, payload.size()) + payload;
}

// Feeds `stream` in pieces of the sizes that `next_piece` returns, by both calls. Returns every
// whole frame in order.
template <class F>
std::vector<Frame> decode_in_pieces(const std::string& stream, F next_piece) {
  FrameDecoder decoder, taker;
  std::vector<Frame> out;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t piece = next_piece();
    const std::string_view arrived = std::string_view(stream).substr(at, piece);
    decoder.feed(arrived);
    std::string_view rest = arrived;
    at += piece;
    for (;;) {
      auto got = decoder.next();
      REQUIRE(got.has_value());
      const auto same = taker.next(rest);
      REQUIRE(same.has_value());
      CHECK(same->has_value() == got->has_value());
      if (!*got) break;
      CHECK((*same)->kind == (*got)->kind);
      CHECK((*same)->payload == (*got)->payload);
      out.push_back(**got);
    }
    CHECK(rest.empty());
    CHECK(taker.at_boundary() == decoder.at_boundary());
  }
  CHECK(decoder.at_boundary());
  return out;
}

Error error_of(const std::string& stream) {
  FrameDecoder decoder;
  decoder.feed(stream);
  auto got = decoder.next();
  REQUIRE_FALSE(got.has_value());
  return got.error();
}

}  // namespace

TEST_CASE("frames come out whole and in order however the stream cuts them") {
  const std::vector<Frame> sent = {{1, "hello"}, {2, ""}, {255, std::string(70000, 'x')}, {3, "!"}};
  std::string stream;
  for (const Frame& one : sent)
    stream += frame(one.kind, one.payload);
  Random random(3);
  const auto check = [&](const std::vector<Frame>& got) {
    REQUIRE(got.size() == sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      CHECK(got[i].kind == sent[i].kind);
      CHECK(got[i].payload == sent[i].payload);
    }
  };
  check(decode_in_pieces(stream, [] { return std::size_t{1}; }));
  check(decode_in_pieces(stream, [&] { return stream.size(); }));
  for (int round = 0; round < 20; ++round) {
    check(decode_in_pieces(stream,
                           [&] { return static_cast<std::size_t>(random.between(1, 9000)); }));
  }
}

TEST_CASE("a stream is at a boundary only between frames") {
  const std::string stream = frame(7, "abc");
  FrameDecoder decoder;
  CHECK(decoder.at_boundary());
  for (std::size_t i = 0; i + 1 < stream.size(); ++i) {
    decoder.feed({&stream[i], 1});
    const auto got = decoder.next();
    REQUIRE(got.has_value());
    CHECK_FALSE(got->has_value());
    CHECK_FALSE(decoder.at_boundary());
  }
  decoder.feed({&stream.back(), 1});
  CHECK((*decoder.next())->payload == "abc");
  CHECK(decoder.at_boundary());
}

TEST_CASE("another frame version is an error that names both versions and the cure") {
  std::string stream = frame(1, "x");
  stream[0] = 9;
  const Error error = error_of(stream);
  CHECK(error.kind == ErrorKind::protocol);
  CHECK(error.why.find("version 9") != std::string::npos);
  CHECK(error.why.find("speaks 1") != std::string::npos);
  CHECK(error.hint.find("same version") != std::string::npos);
}

TEST_CASE("reserved bytes that are used are an error") {
  for (const std::size_t at : {2u, 3u}) {
    std::string stream = frame(1, "x");
    stream[at] = 1;
    CHECK(error_of(stream).kind == ErrorKind::protocol);
  }
}

TEST_CASE("the largest payload passes and one byte more is refused from its header alone") {
  const std::string largest(kMaxPayload, 'y');
  FrameDecoder decoder;
  decoder.feed(frame(1, largest));
  CHECK((*decoder.next())->payload == largest);

  const Error error = error_of(frame_header(1, kMaxPayload + 1));
  CHECK(error.why.find(std::to_string(kMaxPayload + 1)) != std::string::npos);
  CHECK(error.why.find(std::to_string(kMaxPayload)) != std::string::npos);
  CHECK(error_of(std::string("\x01\x01\0\0\xff\xff\xff\xff", 8)).kind == ErrorKind::protocol);
}

TEST_CASE("a bad frame behind a good one does not take the good one with it") {
  FrameDecoder decoder;
  decoder.feed(frame(1, "good") + frame_header(1, kMaxPayload + 1));
  CHECK((*decoder.next())->payload == "good");
  CHECK_FALSE(decoder.next().has_value());
  CHECK_FALSE(decoder.next().has_value());  // the error stays
}

}  // namespace frame_test
