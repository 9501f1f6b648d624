// The declarations that the files of upcalls share. Private to pmix/server. An upcall is a function
// of the host, this program, that libpmix calls. libpmix makes upcalls from threads of its own, and
// they must not block.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "pmix/server/pmix_server.h"

namespace scela::pmix {

// Returns the server that the upcalls work for.
Server* served();
// Returns the status of PMIx for an answer of the agent.
pmix_status_t status_of(Status status);

// Makes libpmix's own thread call `call`. The answers to look-ups, queries and job control need
// this, because they change what libpmix is sending without a lock. Other answers change threads by
// themselves.
void in_libpmix(std::function<void()> call);

// The time limit of a connect or a group operation. libpmix 4.2 runs a timer of its own while its
// host is asked, and breaks if both answer. So the host's limit is a little earlier, and the host
// does not answer after that.
class Deadline {
 public:
  // `timeout` is PMIX_TIMEOUT of the call; 0: no limit.
  explicit Deadline(std::chrono::seconds timeout)
      : limit_(timeout.count() == 0 ? AgentLink::kEver : AgentLink::Limit(timeout) - 4 * kMargin),
        last_(Clock::now() + limit_ + 3 * kMargin) {}
  // Returns the limit for the question to the agent; kEver: none.
  AgentLink::Limit limit() const { return limit_; }
  // Calls `call`, if there is still time, in libpmix's thread, which also runs libpmix's timer. If
  // there is no limit, calls it at once.
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

// The largest size, in bytes, of one value, text or event that a process publishes, logs or sends.
// Agents accept less than this.
inline constexpr std::size_t kMaxSaid = std::size_t{1024} * 1024;

// Makes or dissolves the group `name` of these `count` processes (group_upcalls.cpp). `call` gets
// the result later, with `data`. It is called at most once, and only if this function returns
// PMIX_SUCCESS.
pmix_status_t group_upcall(pmix_group_operation_t operation, char* name, const pmix_proc_t procs[],
                           std::size_t count, const pmix_info_t infos[], std::size_t info_count,
                           pmix_info_cbfunc_t call, void* data);

// These add parts of the table: queries and tools (observe_upcalls.cpp), events (events.cpp),
// control of ranks (control_upcalls.cpp), and copies of output (copies.cpp).
void add_observation(pmix_server_module_t& table);
void add_events(pmix_server_module_t& table);
void add_control(pmix_server_module_t& table);
void add_copies(pmix_server_module_t& table);
// Passes an event to the processes of this node that have registered for it (events.cpp). libpmix
// copies the arguments.
void tell_event(pmix_status_t code, const pmix_proc_t& source, pmix_data_range_t range,
                const pmix_info_t* infos, std::size_t count);
// Records that a tool has connected (copies.cpp).
void tool_came(const pmix_proc_t& proc);
// Asks libpmix to report the tools that leave. The caller must have initialised libpmix before.
void watch_tools();
// Spawns the ranks of `programs` programs for the rank `proc` (spawn_upcall.cpp). `infos` are
// `count` attributes. `call` is used as for groups.
pmix_status_t spawn_upcall(const pmix_proc_t* proc, const pmix_info_t* infos, std::size_t count,
                           const pmix_app_t* apps, std::size_t programs, pmix_spawn_cbfunc_t call,
                           void* data);

}  // namespace scela::pmix
