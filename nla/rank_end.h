// Our end of something that leads to a rank: a pipe, its terminal, its PMI connection.
//
// Event loop, one thread; the poller tells whoever the end belongs to what happens there.
#pragma once

#include "common/core/rank_set.h"
#include "common/os/fd.h"
#include "nla/poller.h"

namespace scela::nla {

// Told what happens to a descriptor of a rank.
class EndListener {
 public:
  virtual void on_ready(Rank rank, int which, bool readable, bool writable) = 0;

 protected:
  ~EndListener() = default;
};

// Our end of something that leads to a rank. `which` is the descriptor's number in the rank.
struct RankEnd final : Poller::Watcher {
  RankEnd(EndListener& told, Rank number, int descriptor)
      : listener(told), rank(number), which(descriptor) {}
  void ready(bool readable, bool writable) override {
    if (fd) listener.on_ready(rank, which, readable, writable);  // it may have been closed since
  }
  // Asks to be told; what is asked already costs nothing.
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
