// Frames by which the two ends of a link speak about the link itself. The shell and the link answer
// them; the core never sees one, so a record of its events holds none of them.
//
// Their kinds lie above those of all messages (nla/core/messages.h), integers are little-endian:
//
//   beat       nothing: I am alive
//   introduce  d, first: root:u8 parent:u32 child:u32 job_id:text key: who we are, and the job's
//   key ask        d: listen for a direct connection offer      u: port:u16 where I listen, 0:
//   nowhere change     nothing: what follows comes over the other stream; the last on this one
//
// d: parent to child, u: child to parent. docs/protocol.md has the reasons. Values only.
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
  bool root = false;         // the parent is scela-run, which a person may stop and continue
  std::uint32_t parent = 0;  // its node's index; of no meaning for scela-run
  std::uint32_t child = 0;
  std::string job_id;
  std::string keys;    // of the nodes of the child's slice (nla/node_keys.h)
  std::string common;  // that all agents of the job have: kCommonKeyBytes
  friend bool operator==(const Introduction&, const Introduction&) = default;
};

// A frame without fields.
std::string link_frame(LinkFrame kind);
std::string encode(const Introduction& introduction);
std::string encode_offer(std::uint16_t port);

// Error (protocol): fields that are missing, left over or impossible.
Result<Introduction> decode_introduction(const Frame& frame);
Result<std::uint16_t> decode_offer(const Frame& frame);
// A frame without fields that has some, or a kind that is not known.
Result<void> check_link_frame(const Frame& frame);

}  // namespace scela::nla
