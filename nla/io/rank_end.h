// The agent's end of something that leads to a rank: a pipe, its terminal, its PMI connection.
// RankStreams and RankConnection own such ends.
//
// Event loop, one thread; the poller tells the end's owner what happens there.
#pragma once

#include "common/core/rank_set.h"
#include "common/os/fd.h"
#include "nla/io/poller.h"

namespace scela::nla {

// Told what happens to a descriptor of a rank.
class EndListener {
 public:
  // `which` is that of the RankEnd. The rest of the contract is in nla/io/poller.h.
  virtual void on_ready(Rank rank, int which, bool readable, bool writable) = 0;

 protected:
  ~EndListener() = default;
};

// The agent's end. `which` is the descriptor's number in the rank.
struct RankEnd final : Poller::Watcher {
  RankEnd(EndListener& told, Rank number, int descriptor)
      : listener(told), rank(number), which(descriptor) {}
  void ready(bool readable, bool writable) override {
    if (fd) listener.on_ready(rank, which, readable, writable);  // may be closed since
  }
  // Asks the poller to tell of these events. A call that changes nothing costs no system call.
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
