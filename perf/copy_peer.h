// A contestant of two processes: the receiver copies with process_vm_readv as soon as it is told
// the source. No channel that copies once can be faster. Each of the processes uses it from one
// thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>

#include "perf/loops.h"

namespace scela::perf {

// Forks the second process, which continues at the same place as rank 1. The second process is
// killed when the first ends.
class CopyPeer {
 public:
  // At most `window` messages are under way in each direction.
  explicit CopyPeer(int window);
  CopyPeer(const CopyPeer&) = delete;
  CopyPeer& operator=(const CopyPeer&) = delete;
  ~CopyPeer();

  // perf/loops.h says what the functions of a contestant do.
  int rank() const { return rank_; }
  static int size() { return 2; }
  static int nodes() { return 1; }
  int local_rank() const { return rank_; }

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
  void begin_send(int peer, const void* bytes, std::size_t n);
  // Only notes the receive; finish() copies the bytes.
  void begin_recv(int, void* bytes, std::size_t n) { wanted_.push_back({bytes, n}); }
  void finish();
  static void tell(Cost&) {}

 private:
  struct Shared;
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
