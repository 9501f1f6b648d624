// The channel as a contestant (loops.h). A rank of scela-perf uses it from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/scela/channel.h"
#include "perf/loops.h"

namespace scela::perf {

// An error of the channel ends the process with its message. perf/loops.h and
// perf/collective_loops.h say what the functions of a contestant do. The channel and the plan must
// outlive the object.
class ChannelPeer {
 public:
  ChannelPeer(Channel& channel, const Plan& plan);
  int rank() const { return channel_.rank(); }
  int size() const { return channel_.size(); }
  int nodes() const { return channel_.nodes(); }
  int local_rank() const;

  void send(int peer, const void* bytes, std::size_t n) {
    check(channel_.send(peer, 1, readable(bytes, n)));
  }
  void recv(int peer, void* bytes, std::size_t n) {
    check(channel_.recv(peer, 1, writable(bytes, n)));
  }
  // These have a tag of their own, for messages that are not measured: they match no other message.
  void send_aside(int peer, const void* bytes, std::size_t n) {
    check(channel_.send(peer, 2, readable(bytes, n)));
  }
  void recv_aside(int peer, void* bytes, std::size_t n) {
    check(channel_.recv(peer, 2, writable(bytes, n)));
  }
  void begin_send(int peer, const void* bytes, std::size_t n) {
    requests_.push_back(channel_.isend(peer, 1, readable(bytes, n)));
  }
  void begin_recv(int peer, void* bytes, std::size_t n) {
    requests_.push_back(channel_.irecv(peer, 1, writable(bytes, n)));
  }
  void finish() {
    for (Request& request : requests_)
      check(request.wait());
    requests_.clear();
  }
  void collective(const Asked& asked) { check(world_.run(call_of(asked))); }
  void begin_collective(const Asked& asked) { operations_.push_back(world_.start(call_of(asked))); }
  void help_collectives() {
    for (Request& operation : operations_)
      operation.test();
  }
  void finish_collectives() {
    for (Request& operation : operations_)
      check(operation.wait());
    operations_.clear();
  }
  Means means(const Asked& asked);
  void tell(Cost& cost) const;

 private:
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
  [[noreturn]] void fail(const std::string& why) const;
  // Returns the call, by the plan's algorithm if it names one.
  Collective call_of(const Asked& asked) const;

  Channel& channel_;
  const Plan& plan_;
  std::vector<Request> requests_;
  Communicator world_;  // for the collective benchmark (coll)
  std::vector<Request> operations_;
};

}  // namespace scela::perf
