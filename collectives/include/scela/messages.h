// Messages among the ranks of a communicator (scela/communicator.h).
//
//   scela::Communicator node = world.node();
//   scela::Status status;
//   if (node.rank() == 0) status = node.send(1, 7, bytes);
//   if (node.rank() == 1) status = node.recv(0, 7, bytes);
//   scela::Request both[] = {node.irecv(peer, 7, bytes), node.isend(peer, 7, bytes_out)};
//   if (scela::wait_all(both) && both[0].status().ok()) use(both[0].status().bytes());
//
// A program uses them as members of a Communicator. They do what the functions of Channel do
// (scela/channel.h), with these differences; the examples there show all of them. There is no
// context. `peer`, `source`, Status::source() and Status::rank() are ranks of the communicator; the
// text of an error also has those of the channel. A tag is 0 to kMaxTag. Messages of one
// communicator match neither those of another, nor those of the channel, nor what its operations
// send. A receive or a probe from kAnySource fails with peer_ended once none of the communicator's
// other ranks is left. If the communicator is empty, or was made by over(), the error is
// bad_communicator. If the program has closed the channel, it is closed.
//
// These calls have the channel's rule for threads: with Threads::multiple, several threads may make
// them at once, also while another one runs operations of the communicator. No other thread may
// use the communicator during free(), its destructor and assignments.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include <scela/pieces.h>
#include <scela/request.h>
#include <scela/status.h>

#pragma GCC visibility push(default)  // of libscela, what this header declares
namespace scela {

class Communicator;
class ProbedMessage;  // scela/channel.h
namespace collectives {
struct MessageGroup;
}

// The messages of one communicator. Those that are under way when this rank frees or destroys the
// communicator go on. Those that no receive has matched by then are dropped, and persistent
// requests are not started any more: their start() returns bad_communicator.
class Messages {
 public:
  Request isend(int peer, int tag, std::span<const std::byte> bytes);
  Request issend(int peer, int tag, std::span<const std::byte> bytes);
  Request irecv(int source, int tag, std::span<std::byte> bytes);
  Status send(int peer, int tag, std::span<const std::byte> bytes);
  Status recv(int source, int tag, std::span<std::byte> bytes, Timeout timeout = {});
  Request send_init(int peer, int tag, std::span<const std::byte> bytes);
  Request recv_init(int source, int tag, std::span<std::byte> bytes);
  Request isend(int peer, int tag, SendPieces pieces);
  Request issend(int peer, int tag, SendPieces pieces);
  Request irecv(int source, int tag, ReceivePieces pieces);
  Status send(int peer, int tag, SendPieces pieces);
  Status recv(int source, int tag, ReceivePieces pieces, Timeout timeout = {});
  Request send_init(int peer, int tag, SendPieces pieces);
  Request recv_init(int source, int tag, ReceivePieces pieces);
  std::optional<Status> iprobe(int source, int tag);
  Status probe(int source, int tag, Timeout timeout = {});
  std::optional<ProbedMessage> improbe(int source, int tag);
  Request imrecv(ProbedMessage message, std::span<std::byte> bytes);
  Request imrecv(ProbedMessage message, ReceivePieces pieces);

 protected:
  Messages();
  explicit Messages(std::shared_ptr<const collectives::MessageGroup> group);
  Messages(Messages&&) noexcept;
  Messages& operator=(Messages&&) noexcept;
  ~Messages();

 private:
  friend class Communicator;                                // free() resets the group
  std::shared_ptr<const collectives::MessageGroup> group_;  // null: an empty communicator
};

}  // namespace scela
#pragma GCC visibility pop
