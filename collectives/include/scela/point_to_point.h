// Collective operations over the messages of another library, such as an MPI.
//
//   class Messages final : public scela::PointToPoint { ... };    // over its isend and irecv
//   Messages messages(...);
//   scela::Communicator world = scela::Communicator::over(messages);
//
// The program derives a class from PointToPoint and implements the functions that have no body. The
// communicators that are made of it call them, from the thread that uses the communicators; with
// ProgressMode::thread also from a thread of libscela, at the same time. No function may throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <scela/request.h>
#include <scela/status.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

class PointToPoint {
 public:
  // Numbers a message under way, until test() says that it is over or cancel() was called. Then the
  // number may be given to another message. 0xffffffff is not a ticket.
  using Ticket = std::uint32_t;

  // The messages from one rank to another with the same route: the k-th send meets the k-th
  // receive. Messages of different routes never meet.
  struct Route {
    // A communicator: 0 to contexts(). The last one is for agreements (agree, shrink).
    std::uint32_t context = 0;
    // How many communicators had the context before. Messages of an earlier one are only left if
    // its operations have failed. A library may ignore it if its messages have no room for it.
    std::uint32_t life = 0;
    std::uint32_t tag = 0;  // 0 to tags() - 1
  };

  // The state of a message.
  struct Outcome {
    bool over = false;      // false: the rest has no meaning
    std::size_t bytes = 0;  // the length of a received message
    // Code::truncated if the message is longer than the buffer. Code::peer_ended with the rank if
    // it has ended. With any other error the operation ends with its message.
    Status status;
  };

  PointToPoint() = default;
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;
  virtual ~PointToPoint() = default;

  // Returns this rank, from 0 on.
  virtual int rank() const = 0;
  // Returns the number of the node of each rank, by rank: as many as there are ranks. Ranks of one
  // node have the same number.
  virtual std::span<const int> nodes() const = 0;
  // How many communicators may live at once, at least 1, and how many tags each has, at least 16:
  // half as many operations may be under way at once. Both are equal on all ranks.
  virtual std::uint32_t contexts() const = 0;
  virtual std::uint32_t tags() const = 0;

  // Begin a message, and return at once. The bytes belong to the library until the message is over.
  virtual Ticket send(int peer, Route route, std::span<const std::byte> bytes) = 0;
  virtual Ticket receive(int peer, Route route, std::span<std::byte> bytes) = 0;
  // Moves messages without blocking, and returns the state of one.
  virtual Outcome test(Ticket ticket) = 0;
  // Blocks until one of the messages may be over, until wake() is called, or until the timeout is
  // over; without a timeout there is no limit. A wake() before the call counts as well. Returns
  // false only if the timeout is over. It may return early.
  virtual bool wait_any(std::span<const Ticket> tickets, Timeout timeout) = 0;
  // Ends a wait of any thread.
  virtual void wake() = 0;
  // Cancels a message. When it returns, the library does not touch its bytes any more.
  virtual void cancel(Ticket ticket) = 0;
  // Returns the ranks that are known to have ended, in the order in which the library found out.
  // The list may only grow, and is valid until the next call.
  virtual std::span<const int> exited() { return {}; }
};

}  // namespace scela
#pragma GCC visibility pop
