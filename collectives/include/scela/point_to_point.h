// Collective operations over the messages of another library, such as an MPI.
//
//   class Messages final : public scela::PointToPoint { ... };    // over its isend and irecv
//   Messages messages(...);
//   scela::Communicator world = scela::Communicator::over(messages);
//
// examples/collectives_over_mpi.cpp implements all functions, over the messages of an MPI.
//
// The program derives a class from PointToPoint and implements the functions that have no body. The
// communicators that are made of it call them, from the thread that uses the communicators; with
// ProgressMode::thread also from a thread of libscela, at the same time. No function may throw, and
// only wait_any() and cancel() may block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <scela/request.h>
#include <scela/status.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

// The messages of one process to and from the ranks of a job. One object serves one call of
// Communicator::over() at a time, and must outlive what was made of it.
class PointToPoint {
 public:
  // Numbers a message under way, until test() says that it is over or cancel() was called. Then the
  // library may give the number to another message. 0xffffffff is not a ticket.
  using Ticket = std::uint32_t;

  // Tells messages from one rank to another apart. With the same route the k-th send meets the k-th
  // receive. Messages of different routes never meet.
  struct Route {
    // 0 to contexts() - 1 for a communicator; contexts() for agreements (agree, shrink).
    std::uint32_t context = 0;
    // The number of communicators that had the context before. Messages of an earlier one are only
    // left if its operations have failed. A library may ignore it if its messages have no room for
    // it.
    std::uint32_t life = 0;
    std::uint32_t tag = 0;  // 0 to tags() - 1
  };

  // The state of a message.
  struct Outcome {
    bool over = false;  // false: the rest has no meaning
    // The length of a received message. A library that does not know how long a truncated message
    // was says one byte more than the buffer has.
    std::size_t bytes = 0;
    // Code::truncated if the message is longer than the buffer. Code::peer_ended with the peer's
    // rank if the peer has ended. With any other error the operation ends with its message.
    Status status;
  };

  PointToPoint() = default;
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;
  virtual ~PointToPoint() = default;

  // Returns this rank, from 0 to nodes().size() - 1.
  virtual int rank() const = 0;
  // Returns the number of the node of each rank, by rank: as many as there are ranks. Ranks of one
  // node have the same number, 0 or more. over() copies it.
  virtual std::span<const int> nodes() const = 0;
  // contexts() returns how many communicators may live at once, at least 1, and tags() how many
  // tags each has, at least 16. Half as many operations as tags may be under way at once, and half
  // as many may be prepared in all. No more contexts are used than there are tags. Both are equal
  // on all ranks, and do not change.
  virtual std::uint32_t contexts() const = 0;
  virtual std::uint32_t tags() const = 0;

  // These begin a message and return at once. There may be no bytes. They belong to the library
  // until the message is over. If the message cannot be begun, test() says why.
  virtual Ticket send(int peer, Route route, std::span<const std::byte> bytes) = 0;
  virtual Ticket receive(int peer, Route route, std::span<std::byte> bytes) = 0;
  // Moves messages without blocking, and returns the state of one. If it is over, the ticket ends.
  virtual Outcome test(Ticket ticket) = 0;
  // Blocks until one of the messages may be over, until wake() is called, or until the timeout is
  // over; without a timeout there is no limit. A wake() before the call counts as well. Returns
  // false only if the timeout is over. It may return early.
  virtual bool wait_any(std::span<const Ticket> tickets, Timeout timeout) = 0;
  // Ends the wait of another thread, or else the next wait. Any thread may call it. Several calls
  // may end one wait only.
  virtual void wake() = 0;
  // Cancels a message, and ends its ticket. When it returns, the library does not touch the bytes
  // any more.
  virtual void cancel(Ticket ticket) = 0;
  // Returns the ranks that are known to have ended, in the order in which the library found out.
  // The list may only grow, and is valid until the next call.
  virtual std::span<const int> exited() { return {}; }
};

}  // namespace scela
#pragma GCC visibility pop
