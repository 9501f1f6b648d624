// This process's connection to the PMIx server of its node. Channels use it one after the other.
//
// libpmix loses 157 kB each time that a process finalizes and initializes it again. Its server may
// also end the next fence of other ranks when it sees the old connection close. Under scela-pmix
// the process therefore stays connected from its first join to its end. It tells the server when it
// leaves and rejoins the job (common/core/requests/pmix_directives.h). Another launcher's server
// does not know such directives: there each leave is a PMIx_Finalize.
#pragma once

#include <cstddef>

#include "comm-channel/bootstrap/pmix_library.h"

namespace scela::channel {

class PmixSession {
 public:
  // The process must have left the job, or not have joined it, whenever join() is called.
  explicit PmixSession(const PmixLibrary& library) : pmix_(library) {}

  // Blocks until the server has answered. Returns what PMIx_Init returns, and which rank of which
  // namespace this process is.
  pmix_status_t join(pmix_proc_t& self);
  // Blocks until the server has answered; the process may then end in any way without being
  // reported as failed. Returns what PMIx_Finalize or PMIx_Job_control returns.
  pmix_status_t leave();
  // Returns how often join() has succeeded: all ranks of a job join it equally often. Values of
  // different joins have different keys, because the server keeps what was put as long as the
  // connection.
  std::size_t joins() const { return joins_; }
  // Returns whether the process kept its connection since an earlier join: its event handlers are
  // there.
  bool is_rejoined() const { return is_rejoined_; }

 private:
  // Blocks until the server has answered a directive of common/core/requests/pmix_directives.h.
  pmix_status_t tell_server(const char* directive);

  const PmixLibrary& pmix_;
  std::size_t joins_ = 0;
  bool keeps_connection_ = false;  // leave() does not close it
  bool is_rejoined_ = false;
};

// Returns the session of this process, which exists until the process ends.
PmixSession& pmix_session(const PmixLibrary& library);

}  // namespace scela::channel
