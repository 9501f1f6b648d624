// One wait for messages and collective operations together (docs/collectives.md, Waits).
//
//   scela::channel::Request message = channel.irecv(scela::channel::kAnySource, 7, bytes);
//   scela::CollectiveRequest sum = world.start(scela::Collective::allreduce(mine, all, op));
//   const scela::Waitable both[] = {message, sum};
//   if (scela::wait_any(both) == 0) use(message.status());
//
// What is over is found here; how it ended, status() or wait() of the request says, at once.
#pragma once

#include <cstddef>
#include <span>

#include <scela/communicator.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela::channel {
class Request;
}

namespace scela {

// A request of the program's, who leaves it where it is meanwhile.
class Waitable {
 public:
  Waitable() = default;  // of nothing
  Waitable(channel::Request& message) : message_(&message) {}
  Waitable(CollectiveRequest& operation) : operation_(&operation) {}

  channel::Request* message() const { return message_; }
  CollectiveRequest* operation() const { return operation_; }

 private:
  channel::Request* message_ = nullptr;
  CollectiveRequest* operation_ = nullptr;
};

// The index of one that is over; requests.size(): none before the limit, or there is none to wait
// for. Passed over are those of nothing, persistent ones that were not started, and operations that
// have been waited for. A message that is complete is found until its request is destroyed,
// assigned or started anew, an operation until it is waited for.
//
// Meanwhile all operations get on of the communicators that are waited for, whoever runs them.
std::size_t wait_any(std::span<const Waitable> requests, CollectiveRequest::Limit limit = {});
// Until all are over. False: not before the limit.
bool wait_all(std::span<const Waitable> requests, CollectiveRequest::Limit limit = {});

}  // namespace scela
#pragma GCC visibility pop
