// Frames by which the two ends of a link speak about the link itself: the connection between an
// agent and its parent agent. The shell (the agent's system calls) and the link answer them. The
// core, the agent's state machine, never sees one, so a record of its events holds none of them.
//
// Their kinds lie above those of all messages (nla/core/wire/agent_messages.h). Integers are
// little-endian. The direction d is from parent to child, u from child to parent:
//
//   beat       both  no fields: the sender is alive
//   introduce  d     first: root:u8 parent:u32 child:u32 job_id:text keys:text common:32 bytes;
//                    both ends, the keys of the child's nodes and that of the job
//   ask        d     the child shall listen for a direct connection; the payload is the choice of
//                    --network (common/core/network/network_choice.h), which the child learns
//                    before its settings; an empty last element, or an empty payload: at the
//                    address by which it was reached
//   offer      u     port:u16 address:text, where the child listens; 0: nowhere; an empty address:
//                    at the one by which the parent has reached it
//   change     both  no fields: what follows comes over the other stream; the last on this one
//
// docs/design/protocol.md has the reasons. Values only, for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/frame.h"
#include "common/core/result.h"

namespace scela::nla {

// The kinds of these frames, as the table above lists them.
enum class LinkFrame : std::uint8_t {
  beat = 0xF0,
  introduce = 0xF1,
  ask = 0xF2,
  offer = 0xF3,
  change = 0xF4
};

// Returns true if a frame of this kind is about the link, and false if it carries a message.
inline bool is_link_frame(std::uint8_t kind) {
  return kind >= 0xF0;
}

// The length of Introduction::common.
inline constexpr std::size_t kCommonKeyBytes = 32;

// The fields of `introduce`: what a parent tells its child before the first message.
struct Introduction {
  // The parent is scela-run, which a user may stop and continue.
  bool root = false;
  // The number of the parent's node, and that of the child's. `parent` has no meaning if `root` is
  // true.
  std::uint32_t parent = 0;
  std::uint32_t child = 0;
  std::string job_id;
  // The keys of the nodes of the child's slice, in the form of nla/keys/node_keys.h.
  std::string keys;
  // The key that all agents of the job share, of kCommonKeyBytes bytes.
  std::string common;
  friend bool operator==(const Introduction&, const Introduction&) = default;
};

// Returns the bytes of a frame without fields: beat, ask or change.
std::string link_frame(LinkFrame kind);
// Returns the bytes of a frame `ask`.
std::string encode_ask(const std::string& network);
// The payload of a frame `ask`, which the caller keeps.
struct Ask {
  explicit Ask(std::string_view payload)
      : may_be_as_reached(payload.empty() || payload.back() == ','),
        network(payload.substr(0, payload.size() - (payload.ends_with(',') ? 1 : 0))) {}
  bool may_be_as_reached;    // without an address in the network: at the one of the ssh session
  std::string_view network;  // the elements that are not empty
};
// Returns the bytes of a frame `introduce`.
std::string encode(const Introduction& introduction);
// The fields of `offer`.
struct Offer {
  std::uint16_t port = 0;  // 0: the child cannot listen
  std::string address;     // numeric; empty: the one by which the parent has reached the child
  friend bool operator==(const Offer&, const Offer&) = default;
};
// Returns the bytes of a frame `offer`.
std::string encode(const Offer& offer);

// Reads the fields of a frame `introduce`. Returns a protocol error if fields are missing, left
// over or impossible.
Result<Introduction> decode_introduction(const Frame& frame);
// Reads the fields of a frame `offer`. Returns a protocol error if fields are missing, left over or
// impossible.
Result<Offer> decode_offer(const Frame& frame);
// Checks a frame for which is_link_frame() is true. Returns a protocol error if the kind is not
// known, or if the frame's fields are not those of its kind.
Result<void> check_link_frame(const Frame& frame);

}  // namespace scela::nla
