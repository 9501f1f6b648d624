// One of a process's sockets for events: of a completion channel, or the asynchronous ones.
//
// Never blocks. What the socket does not take is kept, up to a bound, for flush().
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>

#include "common/os/syscall.h"

namespace scela::hca {

class EventSocket {
 public:
  static constexpr std::size_t kMostKept = 1u << 16;

  EventSocket() = default;
  explicit EventSocket(Fd ours) : socket_(std::move(ours)) {}

  // False: more is kept than a process that reads would ever leave.
  bool send(std::span<const std::byte> event);
  // Sends what is kept, as far as the socket takes it.
  void flush();

  bool keeps() const { return !kept_.empty(); }
  int descriptor() const { return socket_.get(); }

 private:
  enum class Sent : std::uint8_t { done, full, closed };
  Sent send_now(std::span<const std::byte> event) const;

  Fd socket_;
  std::deque<std::string> kept_;
};

}  // namespace scela::hca
