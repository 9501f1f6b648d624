// Starts the agents of other nodes. The shell uses it, in the thread of its loop.
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
#include "nla/core/wire/contact.h"
#include "nla/core/wire/messages.h"
#include "nla/io/transport.h"

namespace scela::nla {

struct StartedAgent {
  std::unique_ptr<Transport> stream;  // the link to it
  pid_t pid = 0;  // of the child that stands for it here, if there is one, which began a session:
                  // once that has ended and the stream is closed, nothing is left of the node
  bool ended = false;  // that child has been reaped already
};

struct SpawnFailure {
  StartPhase phase = StartPhase::start_agent;
  std::string why;
  bool hand_back = false;  // scela-run itself may start it
};

struct Attach {
  std::vector<std::string> words;  // attach_words() (nla/adopt/adoption.h)
  std::uint32_t limit_ms = 0;      // of each phase, at most connect_ms
};

class Spawner {
 public:
  virtual ~Spawner() = default;
  using Begun = std::function<void()>;
  using Done = std::function<void(tl::expected<StartedAgent, SpawnFailure>)>;
  // `done` is called exactly once, perhaps from within. `begun` is called before it, when the start
  // gets its turn, unless nothing is tried.
  virtual void start(const Contact& contact, Begun begun, Done done) = 0;
  // Does the same with further arguments for scela-nla, which is to find the agent that runs there.
  virtual void attach(const Contact& contact, Attach how, Done done) = 0;
  // Cancels a pending start of this node. `done` is called with a failure, perhaps from within,
  // unless it was called before.
  virtual void cancel(const std::string& name) { static_cast<void>(name); }
  // A child process of this one has ended, and no started agent stands for it.
  virtual void reaped(pid_t pid, int status) {
    static_cast<void>(pid);
    static_cast<void>(status);
  }
  // Returns the sessions of the processes by which agents are being started, until `done` is
  // called.
  virtual std::vector<pid_t> sessions() const { return {}; }
};

}  // namespace scela::nla
