// The envelope that a message is matched by, and the pattern that a receive names. Both are plain
// values.
#pragma once

#include <cstdint>

namespace scela::channel {

inline constexpr std::int32_t kAny = -1;  // a receive's wildcard source or tag

struct Envelope {
  std::uint32_t context = 0;  // separates the messages of communicators
  std::int32_t source = 0;    // rank of the sender
  std::int32_t tag = 0;
  std::uint64_t length = 0;  // bytes of the whole message

  friend bool operator==(const Envelope&, const Envelope&) = default;
};

// The messages that a receive accepts; the source and the tag may be kAny.
struct Pattern {
  std::uint32_t context = 0;
  std::int32_t source = kAny;
  std::int32_t tag = kAny;

  friend bool operator==(const Pattern&, const Pattern&) = default;
};

// Returns whether a receive with this pattern may get a message with this envelope.
inline bool fits(const Pattern& pattern, const Envelope& envelope) {
  return pattern.context == envelope.context &&
         (pattern.source == kAny || pattern.source == envelope.source) &&
         (pattern.tag == kAny || pattern.tag == envelope.tag);
}

}  // namespace scela::channel
