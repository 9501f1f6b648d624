#include "nla/core/wire/link_frames.h"

#include "common/core/bytes.h"
#include "common/core/network/network_choice.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

std::string framed(LinkFrame kind, const std::string& payload) {
  return frame_header(static_cast<std::uint8_t>(kind), payload.size()) + payload;
}

tl::unexpected<Error> malformed(const char* what) {
  return fail(Error{ErrorKind::protocol, cat("read ", what, " of a link"), {}, "malformed", {}});
}

}  // namespace

std::string link_frame(LinkFrame kind) {
  return framed(kind, {});
}

std::string encode(const Introduction& introduction) {
  ByteWriter out;
  out.flag(introduction.root);
  out.u32(introduction.parent);
  out.u32(introduction.child);
  out.text(introduction.job_id);
  out.text(introduction.keys);
  out.raw(introduction.common);
  return framed(LinkFrame::introduce, out.bytes());
}

std::string encode_ask(const std::string& network) {
  return framed(LinkFrame::ask, network);
}

std::string encode(const Offer& offer) {
  ByteWriter out;
  out.u16(offer.port);
  out.text(offer.address);
  return framed(LinkFrame::offer, out.bytes());
}

Result<Introduction> decode_introduction(const Frame& frame) {
  ByteReader in(frame.payload);
  Introduction out;
  const std::uint8_t root = in.u8();
  out.root = root == 1;
  out.parent = in.u32();
  out.child = in.u32();
  out.job_id = in.text();
  out.keys = in.text();
  out.common = in.raw(kCommonKeyBytes);
  if (!in.done() || root > 1) return malformed("the introduction");
  return out;
}

Result<Offer> decode_offer(const Frame& frame) {
  ByteReader in(frame.payload);
  Offer out;
  out.port = in.u16();
  out.address = in.text();
  if (!in.done()) return malformed("the offer");
  return out;
}

Result<void> check_link_frame(const Frame& frame) {
  switch (static_cast<LinkFrame>(frame.kind)) {
    case LinkFrame::introduce:
      if (auto read = decode_introduction(frame); !read) return fail(read.error());
      return {};
    case LinkFrame::offer:
      if (auto read = decode_offer(frame); !read) return fail(read.error());
      return {};
    case LinkFrame::ask: {
      const std::string_view network = Ask(frame.payload).network;
      if (!frame.payload.empty() && !parse_network(network)) {
        return malformed("the network of a frame");
      }
      return {};
    }
    case LinkFrame::beat:
    case LinkFrame::change:
      if (!frame.payload.empty()) return malformed("a frame");
      return {};
  }
  return malformed("a frame of an unknown kind");
}

}  // namespace scela::nla
