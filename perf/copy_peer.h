// A contestant of two processes: the receiver copies with process_vm_readv as soon as it is told
// the source. No channel that copies once can be faster. Each of the processes uses it from one
// thread. Errors end the process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>

#include "perf/timed_loops.h"

namespace scela::perf {

// Forks the second process, which continues in the same place as rank 1. The second process is
// killed when the first ends.
class CopyPeer {
 public:
  // Makes the shared memory and the second process. At most `window` messages are under way in each
  // direction; it must be less than 4096.
  explicit CopyPeer(int window);
  CopyPeer(const CopyPeer&) = delete;
  CopyPeer& operator=(const CopyPeer&) = delete;
  // Rank 0 waits for the end of rank 1.
  ~CopyPeer();

  // perf/timed_loops.h says what the functions of a contestant do.
  int rank() const { return rank_; }
  static int size() { return 2; }
  static int nodes() { return 1; }
  // Returns the rank among those of this node, which has both.
  int local_rank() const { return rank_; }

  // These send `n` bytes to the other process, or receive as many from it. They block until the
  // bytes are copied. `peer` has no meaning: there is one other process.
  void send(int peer, const void* bytes, std::size_t n) {
    begin_send(peer, bytes, n);
    finish();
  }
  void recv(int peer, void* bytes, std::size_t n) {
    begin_recv(peer, bytes, n);
    finish();
  }
  void send_aside(int peer, const void* bytes, std::size_t n) { send(peer, bytes, n); }
  void recv_aside(int peer, void* bytes, std::size_t n) { recv(peer, bytes, n); }
  // Tells the other process where the bytes are; finish() waits until they are copied.
  void begin_send(int peer, const void* bytes, std::size_t n);
  // Notes only where the bytes go to; finish() copies them.
  void begin_recv(int, void* bytes, std::size_t n) { wanted_.push_back({bytes, n}); }
  // Copies the messages of all receives that were begun, and blocks until all messages sent were
  // copied.
  void finish();
  // Does nothing: there are no connections.
  static void tell(Cost&) {}

 private:
  // The memory that both processes share; .cpp file only.
  struct Shared;
  // A receive that was begun.
  struct Wanted {
    void* to;
    std::size_t bytes;
  };
  // Waits for the other process's next message, and copies it.
  void copy(const Wanted& wanted);

  Shared* shared_;
  std::size_t room_;
  pid_t other_ = -1;
  int rank_ = 0;
  std::deque<Wanted> wanted_;
};

}  // namespace scela::perf
