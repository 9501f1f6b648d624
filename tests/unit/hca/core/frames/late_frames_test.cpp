#include "hca/core/frames/late_frames.h"

#include <array>
#include <catch2/catch.hpp>

namespace late_frames_test {

using namespace scela::hca;

namespace {

LateFrames::Frame frame_to(std::uint32_t node) {
  return {node, {}};
}

}  // namespace

TEST_CASE("hca late frames: each arrives once, when it is due, the earliest first") {
  LateFrames late;
  CHECK_FALSE(late.deadline());
  late.add(30, frame_to(3));
  late.add(10, frame_to(1));
  late.add(20, frame_to(2));
  CHECK(late.deadline() == 10U);
  CHECK_FALSE(late.has_due(9));
  CHECK(late.has_due(10));
  CHECK(late.next_due().node == 1);
  CHECK(late.next_due().node == 2);
  CHECK_FALSE(late.has_due(25));
  CHECK(late.deadline() == 30U);
}

TEST_CASE("hca late frames: a frame is the copy of its header and its payload") {
  LateFrames late;
  std::array header{std::byte{1}, std::byte{2}};
  std::array payload{std::byte{3}};
  late.add(10, 5, header, payload);
  header.fill(std::byte{0});
  payload.fill(std::byte{0});
  const LateFrames::Frame frame = late.next_due();
  CHECK(frame.node == 5);
  CHECK(frame.bytes == std::vector{std::byte{1}, std::byte{2}, std::byte{3}});
}

TEST_CASE("hca late frames: beyond a number of late frames, others are to arrive in time") {
  LateFrames late;
  while (!late.is_full())
    late.add(10, frame_to(1));
  late.next_due();
  CHECK_FALSE(late.is_full());
}

}  // namespace late_frames_test
