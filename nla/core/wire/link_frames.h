// Frames by which the two ends of a link speak about the link itself. The shell and the link answer
// them. The core never sees one, so a record of its events holds none of them.
//
// Their kinds lie above those of all messages (nla/core/wire/messages.h). Integers are
// little-endian. The direction d is from parent to child, u from child to parent:
//
//   beat       both  no fields: the sender is alive
//   introduce  d     first: root:u8 parent:u32 child:u32 job_id:text keys:text common:32 bytes;
//                    both ends, the keys of the child's nodes and that of the job
//   ask        d     no fields: the child shall listen for a direct connection
//   offer      u     port:u16, where the child listens; 0: nowhere
//   change     both  no fields: what follows comes over the other stream; the last on this one
//
// docs/design/protocol.md has the reasons. Values only, for any thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/frame.h"
#include "common/core/result.h"

namespace scela::nla {

enum class LinkFrame : std::uint8_t {
  beat = 0xF0,
  introduce = 0xF1,
  ask = 0xF2,
  offer = 0xF3,
  change = 0xF4
};

inline bool is_link_frame(std::uint8_t kind) {
  return kind >= 0xF0;
}

inline constexpr std::size_t kCommonKeyBytes = 32;

struct Introduction {
  // The parent is scela-run, which a user may stop and continue.
  bool root = false;
  std::uint32_t parent = 0;  // index of its node; unused for scela-run
  std::uint32_t child = 0;
  std::string job_id;
  std::string keys;    // keys of the slice (nla/keys/node_keys.h)
  std::string common;  // kCommonKeyBytes that all agents have
  friend bool operator==(const Introduction&, const Introduction&) = default;
};

// Returns a frame without fields.
std::string link_frame(LinkFrame kind);
std::string encode(const Introduction& introduction);
std::string encode_offer(std::uint16_t port);

// Return a protocol error if fields are missing, left over or impossible.
Result<Introduction> decode_introduction(const Frame& frame);
Result<std::uint16_t> decode_offer(const Frame& frame);
// Returns a protocol error if the kind is not known, or if the frame's fields are not those of its
// kind.
Result<void> check_link_frame(const Frame& frame);

}  // namespace scela::nla
