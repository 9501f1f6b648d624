// The channel (comm-channel/) and ScELA's collective operations as a contestant: an object by which
// the timed loops (timed_loops.h) send and receive. A rank of scela-perf uses it from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/scela/channel.h"
#include "perf/timed_loops.h"

namespace scela::perf {

// Sends and receives through a channel. An error of the channel ends the process with its message.
// perf/timed_loops.h and perf/collective_loops.h say what the functions of a contestant do.
class ChannelPeer {
 public:
  // Makes the communicator too if the plan's benchmark is coll. The channel and the plan must
  // outlive the object.
  ChannelPeer(Channel& channel, const Plan& plan);
  // Returns this rank, the number of ranks, and the number of nodes.
  int rank() const { return channel_.rank(); }
  int size() const { return channel_.size(); }
  int nodes() const { return channel_.nodes(); }
  // Returns the number of ranks on this rank's node that have smaller numbers.
  int local_rank() const;

  // These send `n` bytes to rank `peer`, or receive as many from it, with the tag of measured
  // messages. They block until the buffer may be used again.
  void send(int peer, const void* bytes, std::size_t n) {
    check(channel_.send(peer, 1, readable(bytes, n)));
  }
  void recv(int peer, void* bytes, std::size_t n) {
    check(channel_.recv(peer, 1, writable(bytes, n)));
  }
  // These do the same with a tag of their own, for messages that are not measured: they match no
  // other message.
  void send_aside(int peer, const void* bytes, std::size_t n) {
    check(channel_.send(peer, 2, readable(bytes, n)));
  }
  void recv_aside(int peer, void* bytes, std::size_t n) {
    check(channel_.recv(peer, 2, writable(bytes, n)));
  }
  // These begin a message and return at once; the buffer must stay as it is until finish().
  void begin_send(int peer, const void* bytes, std::size_t n) {
    requests_.push_back(channel_.isend(peer, 1, readable(bytes, n)));
  }
  void begin_recv(int peer, void* bytes, std::size_t n) {
    requests_.push_back(channel_.irecv(peer, 1, writable(bytes, n)));
  }
  // Blocks until all messages that were begun are complete.
  void finish() {
    for (Request& request : requests_)
      check(request.wait());
    requests_.clear();
  }
  // Carries out a collective operation and blocks.
  void collective(const CollectiveCall& asked) { check(world_.run(call_of(asked))); }
  // Begins a collective operation and returns at once; finish_collectives() ends it.
  void begin_collective(const CollectiveCall& asked) {
    operations_.push_back(world_.start(call_of(asked)));
  }
  // Advances all operations that were begun, without blocking.
  void progress_collectives() {
    for (Request& operation : operations_)
      operation.test();
  }
  // Blocks until all operations that were begun are complete.
  void finish_collectives() {
    for (Request& operation : operations_)
      check(operation.wait());
    operations_.clear();
  }
  // Returns the executor and algorithm of such a call. All ranks must call it.
  ExecutorAndAlgorithm means(const CollectiveCall& asked);
  // Fills in the connections and queue pairs of this process.
  void tell(Cost& cost) const;

 private:
  // These return `n` bytes as the channel takes them.
  static std::span<const std::byte> readable(const void* bytes, std::size_t n) {
    return {static_cast<const std::byte*>(bytes), n};
  }
  static std::span<std::byte> writable(void* bytes, std::size_t n) {
    return {static_cast<std::byte*>(bytes), n};
  }
  // Ends the process if there is an error.
  void check(const Status& status) const {
    if (!status.ok()) fail(status.message());
  }
  // Prints the error and ends the process with status 1.
  [[noreturn]] void fail(const std::string& why) const;
  // Returns the call, by the plan's algorithm if it names one.
  Collective call_of(const CollectiveCall& asked) const;

  Channel& channel_;
  const Plan& plan_;
  std::vector<Request> requests_;
  Communicator world_;  // for the collective benchmark (coll)
  std::vector<Request> operations_;
};

}  // namespace scela::perf
