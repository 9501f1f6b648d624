// A request: a send or a receive that is under way. Channel (scela/channel.h) makes them.
//
// A request owns its state. If it is destroyed before it is complete, it is cancelled, or waited
// for if it cannot be cancelled. So no buffer is written after the program has left it. Requests
// that are left when their channel ends are treated alike; they may be destroyed after it. Two
// threads must not use one request at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include <scela/errors.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {

struct Operation;  // belongs to the channel

struct Status {
  int source = -1;  // of receives: the sender's rank
  int tag = -1;     // of receives
  // The length of a received message in bytes, even if it was truncated.
  std::size_t bytes = 0;
  ChannelError error;

  explicit operator bool() const { return !error; }
};

// The limit of a wait. Without a value the wait has no limit.
using Limit = std::optional<std::chrono::nanoseconds>;

class Request {
 public:
  Request() = default;  // an empty request: it is complete
  Request(Request&& other) noexcept : operation_(other.operation_) { other.operation_ = nullptr; }
  Request& operator=(Request&& other) noexcept;
  ~Request() {
    if (operation_ != nullptr) reset();
  }

  // Makes progress without waiting, and returns true if the request is complete.
  bool test();
  // Blocks until the request is complete or the limit is over. Returns Code::timed_out if the limit
  // is over; the request goes on.
  Status wait(Limit limit = {});
  // Returns the status of a complete request.
  const Status& status() const;
  // Cancels a receive that no message has matched: it is complete with Code::cancelled. Returns
  // false if it is too late, or the request is a send. It returns false too if only the sender
  // knows: then the receive ends with Code::cancelled or with its message.
  bool cancel();
  // Starts a persistent request that is complete or was not started, with the same arguments as
  // before. Returns Code::argument for any other request.
  ChannelError start();
  bool persistent() const;

 private:
  friend class Channel;
  friend struct Inside;
  friend std::size_t wait_any(std::span<Request> requests, Limit limit);
  friend std::size_t wait_any(std::span<Request* const> requests, Limit limit);
  explicit Request(Operation* operation) : operation_(operation) {}
  // Returns whether the request is complete before the limit is over.
  bool completes(Limit limit);
  // Cancels the request or waits for it, and makes this object empty.
  void reset();

  Operation* operation_ = nullptr;
};

// Blocks until a request is complete, and returns its index. Returns requests.size() if none is
// complete before the limit, or if there is none to wait for. Empty requests and persistent ones
// that were not started are passed over. scela/waits.h also waits for collective operations.
std::size_t wait_any(std::span<Request> requests, Limit limit = {});
// Waits in the same way for requests that stand anywhere; null pointers are passed over.
std::size_t wait_any(std::span<Request* const> requests, Limit limit = {});
// Blocks until all requests are complete. Returns false if the limit is over before.
bool wait_all(std::span<Request> requests, Limit limit = {});

}  // namespace scela::channel
#pragma GCC visibility pop
