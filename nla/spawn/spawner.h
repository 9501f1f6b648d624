// The interface by which the shell (an agent's or scela-run's code with system calls) starts the
// agents of other nodes. The shell uses it, in the thread of its loop.
//
// A spawner makes a process on the node and a stream to it. The agent learns its identity over the
// stream. The owner of the spawner reaps the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/crypto/tls_session.h"
#include "nla/core/wire/agent_messages.h"
#include "nla/core/wire/contact.h"
#include "nla/io/transport.h"

namespace scela::nla {

// An agent that runs.
struct StartedAgent {
  std::unique_ptr<Transport> stream;  // the link to it
  // The child process of this machine that stands for the agent, or 0. It began a session. Once it
  // has ended and the stream is closed, nothing is left on the node.
  pid_t pid = 0;
  bool ended = false;  // that child has been reaped already
};

// The reason why an agent was not started: the phase that failed, and a text to print.
struct SpawnFailure {
  StartPhase phase = StartPhase::start_agent;
  std::string why;
  // Only scela-run may start the agent, and this process is not scela-run.
  bool hand_back = false;
};

// How an agent that runs already, and has lost its parent, is reached.
struct Attach {
  // The further arguments of scela-nla: attach_words() of nla/adopt/adoption.h.
  std::vector<std::string> words;
  // The limit of each phase; Settings::connect_ms counts if it is less.
  std::uint32_t limit_ms = 0;
  // The key by which an agent that waits for its parents (Contact::waits) knows an adopter.
  SharedKey key;
};

// Starts agents and attaches to them. The factory makes the implementations (factory.h).
class Spawner {
 public:
  virtual ~Spawner() = default;
  using Begun = std::function<void()>;
  using Done = std::function<void(tl::expected<StartedAgent, SpawnFailure>)>;
  // Starts the agent of a host. `leaf` says that this agent will start no others. `begun` is called
  // when the start gets its turn (Settings::fanout), unless nothing is tried. `done` is called
  // after it, exactly once, with the agent or the failure. Both may be called from within.
  virtual void start(const Contact& contact, bool leaf, Begun begun, Done done) = 0;
  // Starts scela-nla with further arguments, so that it finds the agent that runs on the host and
  // connects to it. An agent that waits for its parents is connected to directly. `done` is as in
  // start().
  virtual void attach(const Contact& contact, Attach how, Done done) = 0;
  // Cancels a pending start of this node. `done` is called with a failure, perhaps from within,
  // unless it was called before.
  virtual void cancel(const std::string& name) { static_cast<void>(name); }
  // Call it if a child process of this one has ended for which no started agent stands. `status` is
  // that of waitpid().
  virtual void reaped(pid_t pid, int status) {
    static_cast<void>(pid);
    static_cast<void>(status);
  }
  // Returns the processes, which lead sessions, by which agents are being started: those for which
  // `done` was not called yet.
  virtual std::vector<pid_t> sessions() const { return {}; }
};

}  // namespace scela::nla
