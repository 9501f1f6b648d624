// What the files of upcalls have in common. Private to pmix/server.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "pmix/server/server.h"

namespace scela::pmix {

// The server that libpmix calls for.
Server* served();
pmix_status_t status_of(Status status);

// Has it called by libpmix's own thread: the answers to look-ups, queries and job control change
// what libpmix is sending without a lock. Others shift threads by themselves.
void in_libpmix(std::function<void()> call);

// Of connect and of groups: libpmix 4.2 keeps a timer of its own while its host is asked, and
// breaks when it and the host both answer. So the host is a little earlier, and says nothing
// afterwards.
class Deadline {
 public:
  explicit Deadline(std::chrono::seconds timeout)
      : limit_(timeout.count() == 0 ? AgentLink::kEver : AgentLink::Limit(timeout) - 4 * kMargin),
        last_(Clock::now() + limit_ + 3 * kMargin) {}
  AgentLink::Limit limit() const { return limit_; }
  // In libpmix's thread, which is the timer's.
  void answer(std::function<void()> call) const {
    if (limit_ == AgentLink::kEver) return call();
    in_libpmix([last = last_, call = std::move(call)] {
      if (Clock::now() < last) call();
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr AgentLink::Limit kMargin{50};
  AgentLink::Limit limit_;
  Clock::time_point last_;
};

// Of what a process publishes, logs or tells in one call: no agent takes as much.
inline constexpr std::size_t kMaxSaid = std::size_t{1024} * 1024;

// group_upcalls.cpp
pmix_status_t group_upcall(pmix_group_operation_t operation, char* name, const pmix_proc_t procs[],
                           std::size_t count, const pmix_info_t infos[], std::size_t info_count,
                           pmix_info_cbfunc_t call, void* data);

// Parts of the table: queries and tools (observe_upcalls.cpp), events (events.cpp), what is done to
// ranks (control_upcalls.cpp).
void add_observation(pmix_server_module_t& table);
void add_events(pmix_server_module_t& table);
void add_control(pmix_server_module_t& table);
// copies.cpp
void add_copies(pmix_server_module_t& table);
void tool_came(const pmix_proc_t& proc);
// Once libpmix is initialized: it says which tools go.
void watch_tools();
// spawn_upcall.cpp
pmix_status_t spawn_upcall(const pmix_proc_t* proc, const pmix_info_t* infos, std::size_t count,
                           const pmix_app_t* apps, std::size_t programs, pmix_spawn_cbfunc_t call,
                           void* data);

}  // namespace scela::pmix
