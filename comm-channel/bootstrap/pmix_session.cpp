#include "comm-channel/bootstrap/pmix_session.h"

#include <cstring>

#include "common/core/requests/pmix_directives.h"
#include "pmi/client/connection.h"

namespace scela::channel {

pmix_status_t PmixSession::join(pmix_proc_t& self) {
  // Another library of this process, such as MPI, keeps the connection for as long as it needs it.
  const bool is_first_user = pmix_.PMIx_Initialized() == 0;
  pmix_status_t status = pmix_.PMIx_Init(&self, nullptr, 0);
  if (status != PMIX_SUCCESS) return status;
  is_rejoined_ = keeps_connection_;
  if (keeps_connection_) {
    status = tell_server(kPmixRejoinJob);
  } else if (is_first_user && pmi::client::is_job_of_scela(self.nspace)) {
    // libpmix counts the calls of PMIx_Init; this one has no PMIx_Finalize.
    pmix_proc_t same{};
    keeps_connection_ = pmix_.PMIx_Init(&same, nullptr, 0) == PMIX_SUCCESS;
  }
  if (status == PMIX_SUCCESS)
    ++joins_;
  else
    static_cast<void>(pmix_.PMIx_Finalize(nullptr, 0));
  return status;
}

pmix_status_t PmixSession::leave() {
  const pmix_status_t told = keeps_connection_ ? tell_server(kPmixLeaveJob) : PMIX_SUCCESS;
  const pmix_status_t finalized = pmix_.PMIx_Finalize(nullptr, 0);
  return told != PMIX_SUCCESS ? told : finalized;
}

pmix_status_t PmixSession::tell_server(const char* directive) {
  pmix_info_t info{};
  std::strncpy(info.key, directive, sizeof info.key - 1);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  pmix_info_t* results = nullptr;
  std::size_t count = 0;  // scela-pmix answers with a status only
  return pmix_.PMIx_Job_control(nullptr, 0, &info, 1, &results, &count);
}

PmixSession& pmix_session(const PmixLibrary& library) {
  static PmixSession* const kept = new PmixSession(library);  // libpmix's thread may outlive main
  return *kept;
}

}  // namespace scela::channel
