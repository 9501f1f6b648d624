// Numbers of the messages of one process to another, so that one that is sent again, because nobody
// knows whether it has come, is received once.
//
// A connection keeps the order of what it carries, and what it did not carry for certain is sent
// again by the next one before anything else. So whatever comes is the next message, or a copy.
// Pure; a value.
#pragma once

#include <cstdint>

namespace scela::channel {

class Sequence {
 public:
  enum class Seen : std::uint8_t {
    next,
    copy,    // it was received before
    missing  // one before it was not: the sender is of another mind, or another
  };

  // Of the message that is sent next.
  std::uint32_t number() { return sent_++; }
  // Of each that comes.
  Seen arrived(std::uint32_t number) {
    const auto ahead = static_cast<std::int32_t>(number - received_);  // numbers begin anew
    if (ahead != 0) return ahead < 0 ? Seen::copy : Seen::missing;
    ++received_;
    return Seen::next;
  }

 private:
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
};

}  // namespace scela::channel
