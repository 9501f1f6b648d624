// Sequence numbers of the messages between this process and one other, for each direction. A
// message that is sent again, because the sender does not know if it arrived, is received once.
// NetworkLink uses them (comm-channel/net/network_link.h).
//
// A connection keeps the order of its messages. Messages that it did not carry for certain are sent
// again by the next connection before anything else. So an arriving message is the next one, or a
// copy. The class is a pure value and not thread-safe.
#pragma once

#include <cstdint>

namespace scela::channel {

class Sequence {
 public:
  enum class Seen : std::uint8_t {
    next,    // it is the expected message
    copy,    // it was received before
    missing  // an earlier message has not arrived
  };

  // Returns the number of the message that is sent next.
  std::uint32_t number() { return sent_++; }
  // Classifies an arriving message by its number.
  Seen arrived(std::uint32_t number) {
    const auto ahead = static_cast<std::int32_t>(number - received_);  // numbers wrap around
    if (ahead != 0) return ahead < 0 ? Seen::copy : Seen::missing;
    ++received_;
    return Seen::next;
  }

 private:
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
};

}  // namespace scela::channel
