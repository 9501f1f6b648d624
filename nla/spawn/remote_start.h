// The start of an agent on a node where commands can be executed: until the agent runs and its
// stream carries frames. It executes the command of nla/core/tree/remote_shell.h, waits for the
// agent's first answer, and sends the agent's package to nodes without it. It works in the same way
// over libssh, ssh and other remote shells. The spawner uses it.
//
// Event loop, one thread; never blocks. Ends with one call of `done`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nla/io/agent_file.h"
#include "nla/io/transport.h"
#include "nla/pack/agent_package.h"
#include "nla/spawn/spawner.h"

namespace scela::nla {

// Executes a command on one node, by one session of ssh or another program.
class Executor {
 public:
  using Done = std::function<void(tl::expected<std::unique_ptr<Transport>, SpawnFailure>)>;
  virtual ~Executor() = default;
  // Executes the command. `done` is called once, from the event loop, with the transport of its
  // standard input and output, or with the failure. To be called again only after the last
  // command's transport is gone.
  virtual void execute(const std::string& command, Done done) = 0;
  // Returns the last output of the command to standard error, which may be empty.
  virtual std::string error_output() = 0;
  // Returns the exit status of the command: 128 + N if signal N ended it, and -1 if it is unknown.
  virtual int exit_status() const = 0;
  // Calls `handler` once the status of a command with an ended stream is known, or never will be.
  virtual void when_ended(const std::function<void()>& handler) { handler(); }
  // Call it when the command runs on the node, because its agent has answered.
  virtual void answered() {}
  // Returns false if the command ended before the node was reached.
  virtual bool reached() const { return true; }
  // Call it if the command is not needed any more.
  virtual void abandon() {}
  // Returns the name of the program that executes the command there, as the subject of a sentence.
  virtual std::string described() const = 0;
  // Returns the failure to report, for the reason `why`, if no agent could be started.
  virtual SpawnFailure failure(std::string why) {
    return {StartPhase::start_agent, std::move(why), false};
  }
  // Returns the process of this machine that stands for the command, or 0 if there is none.
  virtual pid_t pid() const { return 0; }
  // Takes the status of the end of that process, as waitpid() gives it.
  virtual void reaped(int status) { static_cast<void>(status); }
};

// The agent that is started on other nodes.
struct AgentProgram {
  AgentFile file;
  std::optional<AgentPackage> package;  // none: this node has none to send
  Digests digests;                      // those that the package must have
  bool use_cache = true;                // nodes keep the agent in the user's cache
  // If there is no package, the start is handed back to scela-run (SpawnFailure::hand_back).
  bool hand_back = false;
};

// How a start is carried out.
struct RemoteStartSettings {
  // The time for the first answer, and for each further one.
  std::chrono::milliseconds limit{10000};
  std::vector<std::string> words = {};  // further arguments of scela-nla
  bool leaf = false;                    // the small agent is enough (nla/leaf.cpp)
};

// One start that is under way.
class RemoteStart {
 public:
  virtual ~RemoteStart() = default;
  // Executes the command. To be called once.
  virtual void begin() = 0;
  // Ends the start. Calls `done` with a failure, from within, unless it was called before.
  virtual void cancel() = 0;
};

// Makes the start of the agent of `node`, the host's name. `executor` and `program` must outlive
// the call of `done`. After begin(), `done` is called once, from the event loop.
std::shared_ptr<RemoteStart> make_remote_start(boost::asio::io_context& io, Executor& executor,
                                               AgentProgram& program, const std::string& node,
                                               RemoteStartSettings settings, Executor::Done done);

}  // namespace scela::nla
