// The agent's view of this node's adapter engine. The engine is a program of its own (scela-hca).
// The agent starts it when the first program of the job connects to the engine's socket, and again
// for later programs once it has ended.
//
// The socket belongs to the agent and lies in the node's directory; ranks find it by
// SCELA_HCA_SOCKET. While no engine runs, the agent watches the socket and accepts no connection.
// The engine inherits the socket and serves the waiting connections. So no program can find an
// engine that is about to end, and a job that never asks pays only for a socket. If no engine can
// be started, the agent closes the waiting connections and tells the user why.
//
// The agent sends the engine its job, with the key, over a socket pair. Over this pair it then asks
// where the engines of other nodes are (nla/core/pmix/engine_directory.h); the end of the pair is
// the end of the engine. Used by Ranks; runs on the shell's loop. Never blocks, except for starting
// a process as start_child() does.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/pmix/engine_directory.h"
#include "nla/io/poller.h"
#include "nla/ranks/rank_starter.h"
#include "nla/ranks/ranks.h"

namespace scela::nla {

class EngineHelper {
 public:
  // The node of the engine.
  struct Place {
    std::string node;  // its name
    std::uint32_t index = 0;
    std::string directory;  // the node's own directory
    // The directory of the programs that agents start; may be empty.
    std::string helper_directory;
  };
  // Returns the environment variables of the ranks of this node.
  using Environment = std::function<std::vector<std::string>()>;

  // All references are borrowed. `own` are the ranks of this node.
  EngineHelper(const RanksHost& host, const Job& job, const RankSet& own, Place place,
               EngineFacts facts, Poller& poller, Environment environment);
  EngineHelper(const EngineHelper&) = delete;
  EngineHelper& operator=(const EngineHelper&) = delete;

  // Makes the socket and waits for the first program that connects. If this fails, the user is
  // told. Programs here that ask for an engine then have one of this node alone, which the library
  // starts.
  void listen();
  // Returns the path of the socket, for the ranks. It is empty if there is none.
  const std::string& socket() const { return socket_; }
  // Takes an answer or message of the core. Returns false, and does nothing, if it is not about
  // engines.
  bool heard(const action::Reply& reply) { return directory_.heard(reply); }
  // Call it if the job is over: the engine may end. Its end is not reported.
  void let_go();
  // Takes the end of a child process, with the status of waitpid(). Returns false if the process is
  // not the engine.
  bool reaped(pid_t pid, int status);

 private:
  // Calls a function when a descriptor is ready.
  struct DescriptorWatcher final : Poller::Watcher {
    explicit DescriptorWatcher(std::function<void()> what) : came(std::move(what)) {}
    // Calls the function, whatever the descriptor is ready for.
    void ready(bool, bool) override { came(); }
    std::function<void()> came;
  };

  // Returns the functions by which the directory reaches the engine and the core.
  EngineDirectory::Callbacks sides();
  // Returns the path for the socket. If the path in the node's directory is too long for a socket,
  // makes a directory below /tmp.
  std::string choose_socket();
  // Call it if a program has connected to the socket: starts the engine. If that fails, closes the
  // waiting connections.
  void program_connected();
  // Returns an error if the program is missing, or if it cannot be started.
  Result<void> start();
  // Returns the path of the engine's program. `environment` is that of the ranks.
  Result<std::string> find(const std::vector<std::string>& environment) const;
  // Returns the record that gives the engine its job. It includes the key; the caller wipes it.
  std::string record() const;
  // Sends a record to the engine; one that does not fit is lost. Does not block.
  void tell(std::string_view text);
  // Reads the engine's records that have come. Does not block.
  void read_records();
  // Reads the engine's standard error, and shows it to the user once the engine serves programs.
  // Does not block.
  void read_errors();
  // Closes the waiting connections. Tells the user why, unless that was the last reason too.
  void refuse_waiting(const Error& why);
  // Shows a message to the user.
  void say(LogLevel level, std::string text);
  // Watches the socket for programs that connect, or stops that. Without a socket does nothing.
  void watch(bool on);

  const RanksHost& host_;
  const Job& job_;
  const RankSet& own_;
  Place place_;
  EngineFacts facts_;
  Poller& poller_;
  Environment environment_;
  EngineDirectory directory_;
  std::string socket_;
  std::string other_directory_;  // of the socket, if the first is too long
  Fd other_hold_;
  Fd listening_;
  Fd link_;
  Fd errors_;  // the engine's standard error
  DescriptorWatcher knocks_, words_, complaints_;
  pid_t pid_ = 0;
  bool watched_ = false;  // the socket is watched
  bool let_go_ = false;
  std::string program_;     // what was started last
  std::string unfinished_;  // incomplete line of its standard error
  std::string last_line_;
  std::string said_;  // the last reason of a failed start
};

}  // namespace scela::nla
