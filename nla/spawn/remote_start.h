// From "a command can be executed on the node" to "its agent runs and its stream carries frames".
// Executes the command of nla/core/tree/remote_shell.h, waits for the agent's first answer, and
// ships the agent to nodes without it. It works in the same way over libssh, ssh and other remote
// shells. The spawner uses it.
//
// Event loop, one thread; never blocks. Ends with one call of `done`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nla/io/agent_file.h"
#include "nla/io/transport.h"
#include "nla/spawn/spawner.h"

namespace scela::nla {

// A way to execute a command on one node.
class Executor {
 public:
  using Done = std::function<void(tl::expected<std::unique_ptr<Transport>, SpawnFailure>)>;
  virtual ~Executor() = default;
  // `done` is called once, from the event loop. To be called again only after the last command's
  // transport is gone.
  virtual void execute(const std::string& command, Done done) = 0;
  virtual std::string error_output() = 0;  // its last output to standard error
  virtual int exit_status() const = 0;     // 128 + N: by signal N; -1: unknown
  // Calls `handler` once the status of a command with an ended stream is known, or never will be.
  virtual void when_ended(const std::function<void()>& handler) { handler(); }
  virtual void answered() {}                     // the command runs on the node
  virtual bool reached() const { return true; }  // false: it ended on the way there
  virtual void abandon() {}                      // the command is not needed any more
  virtual std::string described() const = 0;     // the program it was given to, as subject
  // Returns the failure that it means if no agent could be started.
  virtual SpawnFailure failure(std::string why) {
    return {StartPhase::start_agent, std::move(why), false};
  }
  // The process of this machine that stands for the command, or 0, and the report of its end.
  virtual pid_t pid() const { return 0; }
  virtual void reaped(int status) { static_cast<void>(status); }
};

struct RemoteStartSettings {
  std::chrono::milliseconds limit{10000};  // for the first answer, and each further
  std::vector<std::string> words = {};     // further arguments of scela-nla
};

class RemoteStart {
 public:
  virtual ~RemoteStart() = default;
  virtual void begin() = 0;
  // Ends the start. Calls `done` with a failure, from within, unless it was called before.
  virtual void cancel() = 0;
};

// `executor` and `agent` must outlive the call of `done`. After begin(), `done` is called once,
// from the event loop.
std::shared_ptr<RemoteStart> make_remote_start(boost::asio::io_context& io, Executor& executor,
                                               AgentFile& agent, const std::string& node,
                                               RemoteStartSettings settings, Executor::Done done);

}  // namespace scela::nla
