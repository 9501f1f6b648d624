// Records what was sent and received, and checks it by the rules of order (docs/design/channel.md,
// Order).
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#include "comm-channel/core/match/matching.h"

namespace scela::channel::test {

inline constexpr int kNone = -1;
inline constexpr int kReceiver = -2;  // a message that a probe took

struct Sent {
  int number = 0;
  Envelope envelope;
  int receive = kNone;  // the receive that got it
};
struct Receive : Posted {
  int number = 0;
  int message = kNone;
  bool cancelled = false, failed = false, cancelling = false;
  // The message that a probe took for this receive.
  const Unexpected* taken = nullptr;
};
// The message that a probe has shown.
struct Seen {
  const Unexpected* message = nullptr;  // known until it is received
  int number = kNone;
  Pattern pattern;
  std::size_t receives = 0;  // receives that were posted before
  bool taken = false;
};
struct Ordinary : Unexpected {
  int number = 0;
};

// The checks look back no further than this many messages: older ones were received long ago.
inline constexpr int kFar = 300;

class Record {
 public:
  std::vector<Sent> sent;
  std::vector<std::unique_ptr<Receive>> receives;
  std::vector<Seen> seen;

  // `lives` returns true if a source lives.
  template <class Lives>
  void check(Lives lives) const {
    for (const Sent& message : sent)
      check_message(message);
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i].taken && seen[i].number != kNone) check_taken(i);
    // No receive waits while a message that it fits is there.
    for (const auto& receive : receives) {
      if (receive->message != kNone || receive->cancelled || receive->failed) continue;
      for (const Sent& message : sent)
        if (message.receive == kNone && lives(message.envelope.source) &&
            fits(receive->pattern, message.envelope))
          FAIL("receive " << receive->number << " waits, and message " << message.number << " too");
    }
  }

 private:
  const Sent& numbered_message(int number) const { return sent[static_cast<std::size_t>(number)]; }
  const Receive* numbered(int number) const {
    const Receive& receive = *receives[static_cast<std::size_t>(number)];
    return receive.number == number ? &receive : nullptr;
  }

  // If a receive fits two messages of one source, it must take the one that was sent first. If two
  // receives fit a message, the one that was posted first must get it.
  void check_message(const Sent& message) const {
    if (message.receive == kNone || message.receive == kReceiver) return;
    const Receive& got = *numbered(message.receive);
    for (int i = message.number - 1; i >= std::max(0, message.number - kFar); --i) {
      const Sent& earlier = numbered_message(i);
      if (earlier.envelope.source != message.envelope.source) continue;
      if (!fits(got.pattern, earlier.envelope) || earlier.receive == kReceiver) continue;
      if (earlier.receive == kNone || earlier.receive > message.receive)
        FAIL("message " << message.number << " has overtaken " << earlier.number << " (receive "
                        << message.receive << ", " << earlier.receive << ")");
    }
    for (int i = message.receive - 1; i >= std::max(0, message.receive - kFar); --i) {
      const Receive* earlier = numbered(i);
      if (earlier == nullptr || earlier->cancelled || earlier->failed) continue;
      if (!fits(earlier->pattern, message.envelope)) continue;
      if (earlier->message == kNone)
        FAIL("receive " << message.receive << " has overtaken " << i << ", which has nothing");
      const Sent& other = numbered_message(earlier->message);
      if (other.envelope.source == message.envelope.source && other.number > message.number)
        FAIL("receive " << message.receive << " has overtaken " << i);
    }
  }

  // A probe that takes a message must take the earliest that was neither taken nor received by
  // then.
  void check_taken(std::size_t index) const {
    const Seen& shown = seen[index];
    const Sent& message = numbered_message(shown.number);
    for (int i = message.number - 1; i >= std::max(0, message.number - kFar); --i) {
      const Sent& earlier = numbered_message(i);
      if (earlier.envelope.source != message.envelope.source) continue;
      if (!fits(shown.pattern, earlier.envelope)) continue;
      const auto before = seen.begin() + static_cast<std::ptrdiff_t>(index);
      const bool was_taken = std::any_of(seen.begin(), before, [&](const Seen& other) {
        return other.taken && other.number == i;
      });
      const bool was_received =
          earlier.receive >= 0 && static_cast<std::size_t>(earlier.receive) < shown.receives;
      if (!was_taken && !was_received)
        FAIL("message " << message.number << " was taken before " << i);
    }
  }
};

}  // namespace scela::channel::test
