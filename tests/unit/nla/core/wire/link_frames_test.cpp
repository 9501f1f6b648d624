#include "nla/core/wire/link_frames.h"

#include <catch2/catch.hpp>

#include "nla/core/wire/agent_messages.h"

namespace link_frames_test {

using namespace scela;
using namespace scela::nla;

namespace {

Frame frame_of(const std::string& bytes) {
  FrameDecoder decoder;
  decoder.feed(bytes);
  return **decoder.next();
}

}  // namespace

TEST_CASE("frames about a link arrive as they were sent") {
  const Introduction introduction{true,    7,      8,
                                  "job-1", "keys", std::string(kCommonKeyBytes, '\xff')};
  CHECK(decode_introduction(frame_of(encode(introduction))) == introduction);
  for (const Offer& offer : {Offer{65535, ""}, Offer{1, "10.1.0.3"}, Offer{0, ""}})
    CHECK(decode_offer(frame_of(encode(offer))) == offer);
  for (const LinkFrame kind : {LinkFrame::beat, LinkFrame::ask, LinkFrame::change}) {
    const Frame frame = frame_of(link_frame(kind));
    CHECK(frame.kind == static_cast<std::uint8_t>(kind));
    CHECK(check_link_frame(frame));
  }
}

TEST_CASE("the question for a port may name a network") {
  const Frame frame = frame_of(encode_ask("ib0,10.1.0.0/16"));
  CHECK(frame.payload == "ib0,10.1.0.0/16");
  CHECK(check_link_frame(frame));
  CHECK_FALSE(check_link_frame(frame_of(encode_ask("10.1.0.0/99"))));
}

TEST_CASE("the question for a port may allow the address by which the agent was reached") {
  CHECK(check_link_frame(frame_of(encode_ask("10.1.0.0/16,"))));
  CHECK(Ask("10.1.0.0/16,").network == "10.1.0.0/16");
  CHECK(Ask("10.1.0.0/16,").may_be_as_reached);
  CHECK(Ask("").may_be_as_reached);
  CHECK(Ask("").network.empty());
  CHECK_FALSE(Ask("ib0,10.1.0.0/16").may_be_as_reached);
  CHECK(Ask("ib0,10.1.0.0/16").network == "ib0,10.1.0.0/16");
  for (const char* const bad : {",", "ib0,,", ",ib0"}) {
    CAPTURE(bad);
    CHECK_FALSE(check_link_frame(frame_of(encode_ask(bad))));
  }
}

TEST_CASE("frames about a link are no messages") {
  CHECK(std::variant_size_v<MessageKinds> < static_cast<std::size_t>(LinkFrame::beat));
  CHECK_FALSE(decode(frame_of(link_frame(LinkFrame::beat))));
}

TEST_CASE("a malformed frame about a link is refused") {
  const std::string key(kCommonKeyBytes, 'k');
  const auto introduce = static_cast<std::uint8_t>(LinkFrame::introduce);
  const std::string head("\1\0\0\0\0\0\0\0\0\1j\1k", 13);
  CHECK(decode_introduction({introduce, head + key}));
  for (const std::string& payload :
       {std::string(), key, std::string("\2\0\0\0\0\0\0\0\0\1j\1k", 13) + key, head,
        head + key + "x"}) {
    CHECK_FALSE(decode_introduction({introduce, payload}));
    CHECK_FALSE(check_link_frame({introduce, payload}));
  }
  CHECK_FALSE(decode_offer({static_cast<std::uint8_t>(LinkFrame::offer), "x"}));
  CHECK_FALSE(decode_offer({static_cast<std::uint8_t>(LinkFrame::offer), "xy"}));
  CHECK_FALSE(check_link_frame({static_cast<std::uint8_t>(LinkFrame::offer), "xy\1zz"}));
  CHECK_FALSE(check_link_frame({static_cast<std::uint8_t>(LinkFrame::beat), "x"}));
  CHECK_FALSE(check_link_frame({0xF5, ""}));
  CHECK_FALSE(check_link_frame({0xFF, ""}));
}

}  // namespace link_frames_test
