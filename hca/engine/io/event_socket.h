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

// The engine's end of a socket pair; the process has the other end.
class EventSocket {
 public:
  // The greatest number of events that are kept. A process that reads its events never leaves so
  // many.
  static constexpr std::size_t kMaxKept = 1u << 16;

  EventSocket() = default;
  // Takes the engine's end.
  explicit EventSocket(Fd ours) : socket_(std::move(ours)) {}

  // Sends one event, or keeps a copy of it for flush(). Returns false if kMaxKept events are kept
  // already: the event is then dropped. Returns true otherwise, also if the process has closed its
  // end.
  bool send(std::span<const std::byte> event);
  // Sends the events that are kept, as many as the socket takes now.
  void flush();

  // Returns true if events wait for flush().
  bool keeps() const { return !kept_.empty(); }
  int descriptor() const { return socket_.get(); }

 private:
  // The result of send_now(). `full`: the event was not sent and must be kept. `closed`: the
  // process has closed its end.
  enum class Sent : std::uint8_t { done, full, closed };
  // Sends the event if the socket takes it now.
  Sent send_now(std::span<const std::byte> event) const;

  Fd socket_;
  std::deque<std::string> kept_;
};

}  // namespace scela::hca
