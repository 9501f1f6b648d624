// The agent's end of something that leads to a rank: a pipe, its terminal, its PMI connection.
// RankStreams and RankConnection own such ends.
//
// Event loop, one thread; the poller tells the end's owner what happens there.
#pragma once

#include "common/core/rank_set.h"
#include "common/os/fd.h"
#include "nla/io/poller.h"

namespace scela::nla {

// Is called when a descriptor of a rank is ready. The owner of the RankEnd implements it.
class EndListener {
 public:
  // Called when descriptor `which` of the rank (0, 1, 2 or 3 in the rank's process) is ready. An
  // error or a hang-up counts as readable and as writable.
  virtual void on_ready(Rank rank, int which, bool readable, bool writable) = 0;

 protected:
  ~EndListener() = default;
};

// The agent's end of a descriptor of rank `rank`. `which` is the number that the descriptor has in
// the rank: 0, 1, 2 or 3.
struct RankEnd final : Poller::Watcher {
  RankEnd(EndListener& told, Rank number, int descriptor)
      : listener(told), rank(number), which(descriptor) {}
  // The poller calls it. Calls the listener, unless the end was closed since.
  void ready(bool readable, bool writable) override {
    if (fd) listener.on_ready(rank, which, readable, writable);  // may be closed since
  }
  // Makes the poller report readiness to read and to write from now on, or not. A call that changes
  // nothing costs no system call.
  void watch(Poller& poller, bool read, bool write) {
    if (!fd || (read == reading && write == writing)) return;
    const bool before = reading || writing;
    if (!read && !write) {
      poller.forget(fd.get());
    } else if (before) {
      poller.change(fd.get(), read, write, *this);
    } else {
      poller.watch(fd.get(), read, write, *this);
    }
    reading = read;
    writing = write;
  }
  // Closes the descriptor, which takes it out of the poller.
  void close() {
    fd.reset();
    reading = writing = false;
  }

  EndListener& listener;
  Rank rank;
  int which;
  Fd fd;
  bool reading = false;
  bool writing = false;
};

}  // namespace scela::nla
