// The connections between a scela-run and the panes of its ranks (launcher/debug/pane_relay.h):
// what is typed goes to the ranks, what ranks write to their panes. Panes uses it, on the session's
// loop and in its one thread; nothing blocks.
//
// The other end of a connection is a process of the same user, as the kernel says (SO_PEERCRED). A
// pane that the user closes hangs up its rank, as a terminal does, and its output is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/core/chunk.h"
#include "common/core/rank_set.h"
#include "common/os/fd.h"

namespace boost::asio {
class io_context;
}

namespace scela {

// Carries the bytes of all panes.
class PaneHub {
 public:
  struct Hooks {
    // Gets what was typed, in the form of Job::input_by_rank, within what allow() allowed.
    std::function<void(Chunk)> typed;
    // Called when the user's panes have taken so many bytes of output.
    std::function<void(std::uint64_t)> shown;
  };

  // `listener` is a listening socket. `ranks` have a pane each; others is the pane kOtherRanks.
  PaneHub(boost::asio::io_context& io, Fd listener, const RankSet& ranks, Hooks hooks);
  // Closes all connections.
  ~PaneHub();
  PaneHub(const PaneHub&) = delete;
  PaneHub& operator=(const PaneHub&) = delete;

  // Allows so many more bytes of input.
  void allow(std::uint64_t bytes);
  // Shows output in the rank's pane. After `end` the pane closes once all is shown.
  void show(Rank rank, std::string_view bytes, bool end);
  // Output that is not shown yet is dropped, and later output too.
  void discard();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace scela
