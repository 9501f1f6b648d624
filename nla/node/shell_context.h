// The state that the parts of an agent's shell share: its event loop, its node, its job, and the
// events that wait for the core. The shell is the code around the agent's core that makes system
// calls; the core is a state machine (nla/core/tree/agent.h).
//
// Each shell has one ShellContext, and its parts hold a reference to it. The shell fills the facts
// of the job in as they pass through it. Used on the loop's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/os/asio.h"
#include "common/os/clock.h"
#include "common/os/fd.h"
#include "nla/adopt/adoption.h"
#include "nla/core/tree/agent.h"
#include "nla/core/tree/events.h"
#include "nla/core/wire/job.h"
#include "nla/io/read_buffer.h"
#include "nla/io/shell_settings.h"
#include "nla/io/trace.h"

namespace scela::nla {

struct NetworkParts;  // nla/spawn/factory.h

struct ShellContext {
  // `of` is root (scela-run) or agent, `name` the node's name. `guardian` is the socket to the
  // guardian (nla/guard/guardian.h); it may be invalid.
  ShellContext(Role of, std::string name, bool parent_is_remote, Fd guardian)
      : role(of),
        node(std::move(name)),
        remote(parent_is_remote),
        guardian_socket(std::move(guardian)) {}

  boost::asio::io_context io{1};
  // TLS for links; nullptr: this program has none.
  const NetworkParts* network = nullptr;
  // Scratch space for all reading on this loop, and the spans of time of --trace.
  ReadBuffer buffer;
  Tracer tracer;

  const Role role;
  const std::string node;  // name of this node; the root has none
  const bool remote;       // the first parent is on another machine
  Fd guardian_socket;      // invalid: there is no guardian, or it is gone

  // The settings of all agents (nla/io/shell_settings.h), from the root.
  Settings settings;
  std::string job_id;
  // The number of this node, and the most children of an agent.
  std::uint32_t node_index = 0;
  std::uint32_t degree = 1;
  // Milliseconds that an agent which lost its parent waits for a new one; 0: it does not wait.
  std::uint32_t adopt_ms = 0;
  // The root's clock minus this machine's, in nanoseconds, modulo 2^64.
  std::uint64_t clock_offset = 0;
  // On the root's clock: when msg::Start came; 0: it has not come.
  std::uint64_t started_ns = 0;
  std::optional<Job> job;
  // On the root's clock: when action::UseJob was carried out.
  std::uint64_t use_job_ns = 0;
  // True while too much is queued for other agents: links to children and requests of ranks are not
  // read.
  bool paused = false;
  // True once the parent has sent msg::Terminate or msg::Shutdown.
  bool told_to_end = false;
  // True once ranks of this node ran, or were about to start, when they were ended.
  bool ended_ranks = false;

  std::deque<Event> events;  // queued until the next pump
  // Handles the queued events and all that they cause, and writes to the links. A call from within
  // it does nothing.
  std::function<void()> pump;

  bool is_root() const { return role == Role::root; }
  // Returns true if the end was ordered, and all ranks of this node had ended by themselves before.
  bool ended_by_itself() const { return told_to_end && !ended_ranks; }
  // Returns nanoseconds on the root's clock.
  std::uint64_t clock_ns() const { return monotonic_ns() + clock_offset; }
  // Queues an event, which the next pump handles.
  void emit(Event event) { events.push_back(std::move(event)); }
  // Shows a log record of this node to the user.
  void log(LogLevel level, Subsystem subsystem, std::string text) {
    emit(event::Say{{level, subsystem, node, std::move(text)}});
  }
  // Returns the path that the directory of the node with this name has.
  std::string directory_of(std::string_view host) const {
    return node_directory(settings.directory, job_id, host);
  }
};

}  // namespace scela::nla
