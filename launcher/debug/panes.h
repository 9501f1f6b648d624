// The panes of tmux in which ranks have their terminals (--tmux, --gdb). The session uses it.
//
// A pane runs scela-run under another word (launcher/debug/pane_relay.h), which connects to this
// one over a socket in a private directory. If the user is in tmux (TMUX), the user's session gets
// the windows. Otherwise tmux gets a server of its own in that directory, and is attached to the
// terminal of scela-run if there is one. A keeper (pane_keeper.h) removes server and directory,
// also if scela-run is killed. One thread uses it; start() and finish() block for as long as tmux
// takes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/debug/pane_hub.h"
#include "launcher/debug/pane_keeper.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/plan/plan.h"
#include "nla/core/tree/events.h"

namespace scela {

// The panes of one job, of which the plan must have Plan::panes.
class Panes {
 public:
  // Borrows the plan.
  explicit Panes(const Plan& plan) : plan_(plan) {}
  ~Panes() { finish(); }
  Panes(const Panes&) = delete;
  Panes& operator=(const Panes&) = delete;

  // Finds tmux and opens all panes. Must be called before this process reaps all its children. If
  // tmux is not attached to a terminal, tells `person` how to do that. Error: there is no tmux, or
  // it refuses (launch); the directory or the socket cannot be made (io, launch).
  Result<void> start(StderrWriter& person);
  // Serves the panes on this loop from now on. `post` sends an event to the root agent. Requires
  // start().
  void open(boost::asio::io_context& io, const std::function<void(nla::Event)>& post);
  // Shows output of a rank in its pane, or in that of other ranks. Returns false if there is none
  // for it.
  bool show(Rank rank, std::string_view bytes, bool end);
  // As the functions of PaneHub.
  void allow(std::uint64_t bytes) {
    if (hub_) hub_->allow(bytes);
  }
  void discard() {
    if (hub_) hub_->discard();
  }
  // Closes all panes: the job has ended.
  void close() { hub_.reset(); }
  // Closes all panes, and waits until tmux is gone from the terminal, and nothing is left.
  void finish();

 private:
  // Makes the directory, the socket and the keeper.
  Result<void> prepare();
  Result<void> run_tmux(std::vector<std::string> words) const;
  std::vector<std::string> first_words() const;
  void attach();

  const Plan& plan_;
  std::string tmux_;       // its path
  std::string directory_;  // "" before it is made
  Fd listener_;
  bool in_users_session_ = false;
  bool shows_others_ = false;  // there is a pane for ranks without one
  PaneKeeper keeper_;
  std::unique_ptr<PaneHub> hub_;
  pid_t client_ = 0;  // tmux at the terminal of scela-run
  Fd client_end_;     // readable when that has ended
};

}  // namespace scela
