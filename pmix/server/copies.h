// Passes copies of the ranks' output on to the tools of this node that have asked for them. Private
// to pmix/server.
//
// libpmix queues without bound the output that a tool does not read. It does not report this, but
// its sockets show it. Therefore nothing is given to libpmix while one of its accepted connections
// is full. Meanwhile the copies wait here, bounded by the agents' windows
// (nla/core/pmix/pmix_copies.h).
//
// libpmix does not say which requests end when a tool leaves. Copies therefore end when the last
// request is stopped, or when the last tool has left.
//
// All public functions may be called from any thread. A thread of its own delivers the copies.
#pragma once

#include <pmix.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "pmix/core/pmix_messages.h"

namespace scela::pmix {

class Server;

class Copies {
 public:
  // `server` is borrowed and must outlive the process's last call.
  explicit Copies(Server& server) : server_(server) {}

  // Note that a tool has connected, or that its connection has ended. Copies end with the last
  // tool. The upcalls of libpmix call these.
  void tool_came(const pmix_proc_t& proc);
  void tool_left(const pmix_proc_t& proc);
  // Begins copies for a request of a tool: asks the agent for them. Does nothing if `what` names no
  // ranks.
  void pull(msg::Pull what);
  // Ends one request of a tool. Copies end with the last request.
  void stop_one();
  // Queues a copy from the agent for the tools, and returns at once. The main thread calls this.
  void pass(msg::Copy copy);

 private:
  using Name = std::pair<std::string, pmix_rank_t>;

  // Ends all copies: drops the waiting ones and tells the agent. Called with lock_ held.
  void stop();
  // The thread that delivers the copies; it never returns.
  void run();
  // Gives one copy to libpmix, with a line that says how many bytes were left out before it.
  void deliver(const msg::Copy& copy) const;

  Server& server_;
  std::mutex lock_;  // guards the members below
  std::condition_variable more_;
  std::deque<msg::Copy> waiting_;
  std::set<Name> tools_;
  std::size_t pulls_ = 0;  // requests that have not ended
  bool running_ = false;   // the thread exists
};

// Blocks until every connection that libpmix has accepted can take more, or has ended (accept.cpp).
void wait_for_readers();

}  // namespace scela::pmix
