// From "a command can be executed on the node" to "its agent runs and its stream carries frames":
// executes the command of nla/core/remote_shell.h, waits for the agent's first word, ships the
// agent where it is not installed. The same over libssh, ssh and other remote shells.
//
// Event loop, one thread. Ends with one call of `done`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nla/agent_file.h"
#include "nla/spawn/spawner.h"
#include "nla/transport.h"

namespace scela::nla {

// A way to execute a command on one node.
class Executor {
 public:
  using Done = std::function<void(tl::expected<std::unique_ptr<Transport>, SpawnFailure>)>;
  virtual ~Executor() = default;
  // `done` is called once, from the event loop. Again only after the transport of the last is gone.
  virtual void execute(const std::string& command, Done done) = 0;
  virtual std::string error_output() = 0;  // the last of what it wrote to standard error
  virtual int exit_status() const = 0;     // of the last command, 128 + N: by signal N; -1: unknown
  // Calls `handler` when the status of a command whose stream has ended is known, or never will be.
  virtual void when_ended(const std::function<void()>& handler) { handler(); }
  virtual void answered() {}                     // the command runs on the node
  virtual bool reached() const { return true; }  // false: it ended without having got there
  virtual void abandon() {}                      // nobody waits for the command any more
  virtual std::string described() const = 0;     // who was given the command, as a subject
  // What it means that no agent could be started.
  virtual SpawnFailure failure(std::string why) {
    return {StartPhase::start_agent, std::move(why), false};
  }
  // Where a process of this machine stands for the command: that process, and news of its end.
  virtual pid_t pid() const { return 0; }
  virtual void reaped(int status) { static_cast<void>(status); }
};

struct RemoteStartSettings {
  std::chrono::milliseconds limit{10000};  // for the command's first answer, and for each further
  std::vector<std::string> words = {};     // further arguments of scela-nla
};

class RemoteStart {
 public:
  virtual ~RemoteStart() = default;
  virtual void begin() = 0;
  // Ends what is under way: `done` is called with a failure, from within, unless it was called.
  virtual void cancel() = 0;
};

// `executor` and `agent` outlive the call of `done`, which comes once after begin(), from the event
// loop.
std::shared_ptr<RemoteStart> make_remote_start(boost::asio::io_context& io, Executor& executor,
                                               AgentFile& agent, const std::string& node,
                                               RemoteStartSettings settings, Executor::Done done);

}  // namespace scela::nla
