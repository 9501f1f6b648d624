// The PMIx server of this node as its agent sees it: a program of its own (scela-pmix), started for
// jobs whose ranks speak PMIx, so that libpmix's threads, memory and crashes stay out of the agent.
//
// A thin shell around PmixDesk: starts the server, carries bytes, and says why it ended. The server
// ends with its link or its agent, and has nothing outside of the node's directory. Stand-ins for
// ranks that have ended (pmix_desk.h) run one after the other, and end with the agent. Runs on the
// shell's loop; never blocks, but for the starts, as start_child() does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/pmix_desk.h"
#include "nla/poller.h"
#include "nla/rank_starter.h"
#include "nla/ranks.h"

namespace scela::nla {

// In the numbers of requests of PMIx: ranks that are served PMI beside it have the same numbers
// without it.
inline constexpr RequestId kPmixRequest = RequestId{1} << 62;

class PmixHelper final : Poller::Watcher {
 public:
  // Empty: it serves one more world. Else why it does not, or does not any more; last.
  using News = std::function<void(std::string why)>;

  // What it may know and do of the ranks of this node.
  struct Reach {
    std::function<pid_t(Rank)> process;  // of a rank that runs, else 0
    std::function<void(Rank, int signo)> signal;
    std::function<bool(Rank, Stream, std::string)> write;  // false: that stream has ended
  };

  // All are borrowed.
  PmixHelper(const RanksHost& host, const Job& job, const RankSet& own, std::uint32_t node,
             Poller& poller, Reach reach, News news);
  PmixHelper(const PmixHelper&) = delete;
  PmixHelper& operator=(const PmixHelper&) = delete;

  // The server's program on this node.
  // Error (launch): there is none.
  static Result<std::string> find(const NodeFacts& node);
  // Error (launch): there is no such program, or it cannot be started.
  Result<void> start(const NodeFacts& node);
  // What ranks of this node are given unless the user has set it otherwise, where so many run.
  std::vector<std::string> defaults(std::uint64_t ranks);

  // The job has more worlds.
  void tell_worlds() { desk_.tell_worlds(); }
  bool serves(Rank rank) const { return link_ && job_.world_of(rank) < desk_.ready_worlds(); }
  std::vector<std::string> environment(Rank rank) const { return desk_.environment(rank); }
  // False: it is none to a request of PMIx.
  bool reply(const action::Reply& reply);
  void output(Rank rank, Stream stream, std::string_view bytes) {
    desk_.output(rank, stream == Stream::err, bytes);
  }
  void peers_failed(const RankSet& ranks) { desk_.peers_failed(ranks); }
  void nodes_lost(const RankSet& nodes) { desk_.nodes_lost(nodes); }
  void reconnected(const RankSet& ranks) { desk_.reconnected(ranks); }
  void set_reading(bool on);
  // It is ending, which ranks may know, and act on, before it is reaped.
  bool ending();
  // The rank's process is gone; what was said of it before is taken first. True: it has not
  // finalized what it had initialized.
  bool rank_ended(Rank rank);
  // How it ended, or that it was not started, for those who ask.
  void note_end(Rank rank, const Outcome& outcome);
  // The job is over: it may go. Nothing is said of its end.
  void let_go();
  // False: the process is neither the server nor a stand-in.
  bool reaped(pid_t pid, int status);

 private:
  void ready(bool readable, bool writable) override;
  void tell(const pmix::Message& message);
  void write();
  bool read();  // false: there is no more now
  void give_up(std::string why);
  void watch();
  std::string last_words() const;
  PmixDesk::Sides sides(Reach reach);
  void make_shared_directory(const std::string& node);
  void drop_defaults(SpawnRequest& request) const;
  void start_stand_in();
  void end_stand_ins();

  const RanksHost& host_;
  const Job& job_;
  const RankSet& own_;
  Poller& poller_;
  News news_;
  PmixDesk desk_;
  pmix::Decoder decoder_;
  Fd link_;
  Fd errors_;           // what it writes to its standard error
  std::string shared_;  // directory in memory; empty: there is none
  Fd shared_hold_;
  std::string fallback_;  // where there is none
  std::uint32_t processors_ = 1;
  std::vector<std::string> defaults_;  // all that were ever given
  std::string program_;                // its path
  std::string directory_;              // where it keeps what it has
  pid_t pid_ = 0;
  std::deque<Rank> stand_ins_;  // to start
  pid_t stand_in_ = 0;
  std::string output_;
  std::size_t written_ = 0;
  std::string why_;         // it is being ended
  std::size_t served_ = 0;  // worlds
  bool let_go_ = false;
  bool may_read_ = true;
  bool watched_ = false;
  bool reading_ = false;
  bool writing_ = false;
};

}  // namespace scela::nla
