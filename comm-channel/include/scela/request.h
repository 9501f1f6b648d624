// A request: a message or a collective operation that is under way, or may be started.
//
//   scela::Request message = channel.irecv(scela::kAnySource, 7, bytes);
//   scela::Request sum = world.start(collective);  // of a scela::Communicator
//   scela::Request* const both[] = {&message, &sum};
//   if (scela::wait_any(both) == 0) use(message.wait().source());
//
// Channel (scela/channel.h) makes the requests of messages, Communicator (scela/communicator.h)
// those of collective operations, and of messages in its ranks. A request owns its state. If it is
// destroyed or assigned before it is complete, it is cancelled, or waited for if it cannot be
// cancelled. After detach() it goes on instead. So no buffer is written after the program has left
// it. The destructor of a collective operation cancels it on this rank; other ranks may wait for
// this one then.
//
// Requests of messages that are left when their channel ends are cancelled or waited for in the
// same way, and may be destroyed after it. They end with Code::closed if they are cancelled so.
//
// Requests have the channel's rule for threads. In addition, two threads must not use one request
// at once, nor two requests of collective operations of communicators that were made from one
// another.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <scela/status.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

namespace channel {
struct Operation;
class RequestBody;
struct Inside;
}  // namespace channel

// The longest time that a call blocks. Without a value there is no limit. With 0 or less the call
// moves what can be moved, and does not block.
//
//   scela::Status status = request.wait(std::chrono::milliseconds(100));
using Timeout = std::optional<std::chrono::nanoseconds>;

// One message or operation, which one object holds. An object that was moved from is empty.
class [[nodiscard]] Request {
 public:
  Request() = default;  // an empty request: it is complete, ok
  Request(Request&& other) noexcept : operation_(other.operation_), body_(other.body_) {
    other.operation_ = nullptr;
    other.body_ = nullptr;
  }
  Request& operator=(Request&& other) noexcept;
  ~Request() {
    if (operation_ != nullptr || body_ != nullptr) reset();
  }

  // Makes progress without blocking. Returns true if the request is complete, also with an error,
  // or if nothing is under way.
  //
  //   while (!request.test()) compute();
  bool test();
  // Blocks until the request is complete, and returns its status. If the timeout passes before, the
  // request goes on and the status is Code::timed_out. If the request is complete already, the call
  // returns its status at once, also for the second time. For a persistent request that was not
  // started it returns Code::bad_request.
  Status wait(Timeout timeout = {});
  // Returns the status of a request of which test() or wait() has said that it is complete. The
  // reference is valid until the request is started, assigned or destroyed. The call does not
  // block.
  //
  //   if (request.test() && !request.status().ok()) report(request.status().message());
  const Status& status() const;
  // Cancels a receive that no message has matched: it is complete with Code::cancelled. Returns
  // false if it is too late, or if the request is a send or a collective operation. It returns
  // false too if only the sender knows: then the receive ends with Code::cancelled or with its
  // message. The call does not block.
  //
  //   if (!request.cancel()) status = request.wait();
  bool cancel();
  // Starts a persistent request, with the same arguments as before. The request was not started
  // yet, or test() or wait() has said that it is complete. For any other request it returns
  // Code::bad_request. It does not block, but for a communicator with ProgressMode::at_once.
  //
  //   scela::Request next = channel.recv_init(0, 7, bytes);
  //   while (next.start().ok() && next.wait().ok()) use(next.status().bytes());
  Status start();
  // Returns true if the request is persistent: send_init(), recv_init() and prepare() make such
  // requests.
  //
  //   if (request.persistent() && request.test()) status = request.start();
  bool persistent() const;
  // Lets a message go on without its request, which is empty afterwards. The channel frees what it
  // needs for the message once that is complete. The program keeps the buffer valid until then,
  // and learns by other means when that is, for example by an answer. An error of the message is
  // not reported. The channel's destructor waits for such sends, and cancels such receives that
  // nothing has matched. A request that is complete, or persistent and not started, is freed. For
  // a collective operation that is under way the call returns Code::bad_request, and changes
  // nothing. It does not block.
  //
  //   if (const auto status = channel.isend(1, 7, bytes).detach(); !status.ok()) report(status);
  Status detach();
  // Returns text for people, for example "allreduce by ring" or "receive from rank 3 with tag 5".
  //
  //   std::puts(request.describe().c_str());
  std::string describe() const;

 private:
  friend class Channel;
  friend struct channel::Inside;
  explicit Request(channel::Operation* operation) : operation_(operation) {}
  explicit Request(channel::RequestBody* body) : body_(body) {}
  // Returns whether the message is complete before the timeout is over.
  bool completes(Timeout timeout);
  // Cancels the request or waits for it, and makes this object empty.
  void reset();

  channel::Operation* operation_ = nullptr;  // a message
  channel::RequestBody* body_ = nullptr;     // anything else
};

// Blocks until a request is complete, also with an error, and returns its index. Returns
// requests.size() if none is complete before the timeout, or if there is none to wait for. Empty
// requests, and persistent ones that were not started, are passed over. A complete request is found
// until its wait() has returned its status, or until it is destroyed, assigned or started again.
//
// Meanwhile all messages of the channel progress, and all operations of the communicators to which
// these requests belong. The calling thread must be one that may use all of these requests.
std::size_t wait_any(std::span<Request> requests, Timeout timeout = {});
// Waits in the same way for requests that stand anywhere. Null pointers are passed over.
std::size_t wait_any(std::span<Request* const> requests, Timeout timeout = {});
// Blocks until all requests are complete; wait() then returns the status of each at once. Returns
// false if the timeout is over before. Requests that wait_any() passes over count as complete.
//
//   scela::Request two[] = {channel.irecv(peer, 7, bytes), channel.isend(peer, 7, bytes_out)};
//   if (scela::wait_all(two, std::chrono::seconds(1)) && two[0].status().ok()) use(bytes);
bool wait_all(std::span<Request> requests, Timeout timeout = {});
bool wait_all(std::span<Request* const> requests, Timeout timeout = {});

}  // namespace scela
#pragma GCC visibility pop
