// A send or a receive that is under way.
//
// A request owns its state: destroyed before it is complete, it is cancelled if that can be, and
// else waited for, so that no buffer is written after the program has left it. So it is with those
// that are left when their channel ends; they may be destroyed after it. Not for two threads at
// once.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include <scela/errors.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {

struct Operation;  // the channel's

struct Status {
  int source = -1;        // of receives: who sent it
  int tag = -1;           // of receives
  std::size_t bytes = 0;  // of receives: the message's length, also where it was truncated
  ChannelError error;

  explicit operator bool() const { return !error; }
};

// A wait's limit. None: for ever.
using Limit = std::optional<std::chrono::nanoseconds>;

class Request {
 public:
  Request() = default;  // of nothing: complete
  Request(Request&& other) noexcept : operation_(other.operation_) { other.operation_ = nullptr; }
  Request& operator=(Request&& other) noexcept;
  ~Request() {
    if (operation_ != nullptr) reset();
  }

  // Whether it is complete; makes progress.
  bool test();
  // Until it is complete, or the limit is over (Code::timed_out; the request goes on).
  Status wait(Limit limit = {});
  // Of a complete request.
  const Status& status() const;
  // Of a receive that no message has matched: it is complete with Code::cancelled. False: too late,
  // or a send, or only its sender knows: then it ends with Code::cancelled or with its message.
  bool cancel();
  // Of a persistent request that is complete or was not started: once more, with the same
  // arguments.
  ChannelError start();
  bool persistent() const;

 private:
  friend class Channel;
  friend struct Inside;
  friend std::size_t wait_any(std::span<Request> requests, Limit limit);
  friend std::size_t wait_any(std::span<Request* const> requests, Limit limit);
  explicit Request(Operation* operation) : operation_(operation) {}
  bool completes(Limit limit);
  void reset();

  Operation* operation_ = nullptr;
};

// The index of one that is complete; requests.size(): none before the limit, or there is none to
// wait for: those of nothing, and persistent ones that were not started, are passed over. With
// collective operations: scela/waits.h.
std::size_t wait_any(std::span<Request> requests, Limit limit = {});
// The same of requests that stand anywhere; null: passed over.
std::size_t wait_any(std::span<Request* const> requests, Limit limit = {});
// False: not all before the limit.
bool wait_all(std::span<Request> requests, Limit limit = {});

}  // namespace scela::channel
#pragma GCC visibility pop
