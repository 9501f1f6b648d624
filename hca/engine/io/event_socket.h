// One of a process's event sockets: that of a completion channel, or that for asynchronous events.
// Machine sends events through it, on the engine's thread.
//
// No function blocks. Events that the socket does not take are kept, up to a bound, for flush().
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>

#include "common/os/syscall.h"

namespace scela::hca {

class EventSocket {
 public:
  static constexpr std::size_t kMaxKept = 1u << 16;

  EventSocket() = default;
  explicit EventSocket(Fd ours) : socket_(std::move(ours)) {}

  // Returns false if more events are kept than a process that reads would ever leave. The event is
  // then dropped. Returns true if it was sent, is kept, or the process has closed its end.
  bool send(std::span<const std::byte> event);
  // Sends the events that are kept, as far as the socket takes them.
  void flush();

  // Returns true if events wait for flush().
  bool keeps() const { return !kept_.empty(); }
  int descriptor() const { return socket_.get(); }

 private:
  // `full`: the event was not sent and must be kept. `closed`: the process has closed its end.
  enum class Sent : std::uint8_t { done, full, closed };
  Sent send_now(std::span<const std::byte> event) const;

  Fd socket_;
  std::deque<std::string> kept_;
};

}  // namespace scela::hca
