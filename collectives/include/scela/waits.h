// One wait for messages and collective operations together (docs/design/collectives.md, Waits).
//
//   scela::channel::Request message = channel.irecv(scela::channel::kAnySource, 7, bytes);
//   scela::CollectiveRequest sum = world.start(scela::Collective::allreduce(mine, all, op));
//   const scela::Waitable both[] = {message, sum};
//   if (scela::wait_any(both) == 0) use(message.status());
//
// A wait says only which request is over. The request's status() or wait() then says at once how it
// ended. Two threads must not use one request at once.
#pragma once

#include <cstddef>
#include <span>

#include <scela/communicator.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {
class Request;
}

namespace scela {

// Refers to a request of the program, which must stay where it is while a Waitable refers to it.
class Waitable {
 public:
  Waitable() = default;  // refers to no request
  Waitable(channel::Request& message) : message_(&message) {}
  Waitable(CollectiveRequest& operation) : operation_(&operation) {}

  channel::Request* message() const { return message_; }
  CollectiveRequest* operation() const { return operation_; }

 private:
  channel::Request* message_ = nullptr;
  CollectiveRequest* operation_ = nullptr;
};

// Blocks until a request is over, and returns its index. Returns requests.size() if none is over
// before the limit, or if there is none to wait for. Empty ones, persistent ones that were not
// started, and operations that have been waited for are passed over. A complete message is found
// until its request is destroyed, assigned or started again. An operation is found until it is
// waited for.
//
// Meanwhile all operations of the communicators that are waited for progress, under every RunBy.
std::size_t wait_any(std::span<const Waitable> requests, CollectiveRequest::Limit limit = {});
// Blocks until all requests are over. Returns false if the limit is over before.
bool wait_all(std::span<const Waitable> requests, CollectiveRequest::Limit limit = {});

}  // namespace scela
#pragma GCC visibility pop
