// The adapter engine of this node as its agent sees it: a program of its own (scela-hca), started
// when the first program of the job knocks at its socket, and again for later ones once it has
// ended.
//
// The socket is the agent's, in the node's directory, and ranks find it by SCELA_HCA_SOCKET. While
// no engine runs the agent watches it, and takes nobody's connection: who knocks is served by the
// engine, which inherits the socket. So nobody can find an engine that is about to end, and a job
// that never asks pays for a socket. Where no engine can be started, who waits is sent away, and
// the user is told why.
//
// What the engine is told of its job (the key among it) comes over a socket pair, over which it
// then asks where other nodes' engines are (engine_desk.h). Its end is the engine's end. Runs on
// the shell's loop; never blocks, but for the starts, as start_child() does.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/engine_desk.h"
#include "nla/poller.h"
#include "nla/rank_starter.h"
#include "nla/ranks.h"

namespace scela::nla {

class EngineHelper {
 public:
  struct Place {
    std::string node;  // its name
    std::uint32_t index = 0;
    std::string directory;   // its own
    std::string companions;  // directory of programs that agents start, may be empty
  };
  // Variables of the ranks here.
  using Environment = std::function<std::vector<std::string>()>;

  // All are borrowed.
  EngineHelper(const RanksHost& host, const Job& job, const RankSet& own, Place place,
               EngineFacts facts, Poller& poller, Environment environment);
  EngineHelper(const EngineHelper&) = delete;
  EngineHelper& operator=(const EngineHelper&) = delete;

  // Begins to listen. Where that cannot be the user is told, and programs here have an engine of
  // this node alone, if they ask for one: the library starts it.
  void listen();
  // What ranks find it by.
  const std::string& socket() const { return socket_; }
  // False: it is not about engines.
  bool heard(const action::Reply& reply) { return desk_.heard(reply); }
  // The job is over: it may go. Nothing is said of its end.
  void let_go();
  // False: the process is not the engine.
  bool reaped(pid_t pid, int status);

 private:
  // One descriptor of several.
  struct Part final : Poller::Watcher {
    explicit Part(std::function<void()> what) : came(std::move(what)) {}
    void ready(bool, bool) override { came(); }
    std::function<void()> came;
  };

  EngineDesk::Sides sides();
  std::string choose_socket();
  void knocked();
  Result<void> start();
  Result<std::string> find(const std::vector<std::string>& environment) const;
  std::string record() const;
  void tell(std::string_view text);
  void take_words();
  void take_complaints();
  void send_away(const Error& why);
  void say(LogLevel level, std::string text);
  void watch(bool on);

  const RanksHost& host_;
  const Job& job_;
  const RankSet& own_;
  Place place_;
  EngineFacts facts_;
  Poller& poller_;
  Environment environment_;
  EngineDesk desk_;
  std::string socket_;
  std::string other_directory_;  // of the socket, where the node's own has too long a name
  Fd other_hold_;
  Fd listening_;
  Fd link_;
  Fd errors_;  // what it writes to its standard error
  Part knocks_, words_, complaints_;
  pid_t pid_ = 0;
  bool watched_ = false;  // the socket
  bool let_go_ = false;
  std::string program_;     // what was started last
  std::string unfinished_;  // a line of its standard error, as far as it has come
  std::string last_line_;
  std::string said_;  // why none could be started, the last time
};

}  // namespace scela::nla
