// Copies of what ranks write, passed on to the tools of this node that have asked for them. Private
// to pmix/server.
//
// libpmix queues without bound what a tool does not read. It has no word for that, but its sockets
// have: nothing is handed to it while one of those that it has accepted takes no more. What waits
// for that is here, at most as much as the agents' windows (nla/core/pmix_copies.h).
//
// It does not tell whose question ends when a tool goes: copies end when their last reader says so,
// or the last tool has gone.
#pragma once

#include <pmix.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "pmix/core/messages.h"

namespace scela::pmix {

class Server;

class Copies {
 public:
  explicit Copies(Server& server) : server_(server) {}

  // Any thread: libpmix's upcalls.
  void tool_came(const pmix_proc_t& proc);
  void tool_left(const pmix_proc_t& proc);
  void pull(msg::Pull what);
  void stop_one();
  // The main thread: from the agent.
  void pass(msg::Copy copy);

 private:
  using Name = std::pair<std::string, pmix_rank_t>;

  void stop();  // under the lock
  void run();
  void deliver(const msg::Copy& copy) const;

  Server& server_;
  std::mutex lock_;  // of what follows
  std::condition_variable more_;
  std::deque<msg::Copy> waiting_;
  std::set<Name> tools_;
  std::size_t pulls_ = 0;
  bool running_ = false;
};

// accept.cpp: returns when every connection that libpmix has accepted takes more, or has ended.
void wait_for_readers();

}  // namespace scela::pmix
