// The functions of libpmix that the bootstrap calls, in one list, loaded when they are needed.
#pragma once

#include <pmix.h>

#include "common/core/result.h"

#define SCELA_PMIX_FUNCTIONS(X)  \
  X(PMIx_Init)                   \
  X(PMIx_Initialized)            \
  X(PMIx_Finalize)               \
  X(PMIx_Abort)                  \
  X(PMIx_Put)                    \
  X(PMIx_Commit)                 \
  X(PMIx_Fence)                  \
  X(PMIx_Get)                    \
  X(PMIx_Register_event_handler) \
  X(PMIx_Job_control)            \
  X(PMIx_Query_info_nb)          \
  X(PMIx_Error_string)           \
  X(PMIx_Get_version)

namespace scela::channel {

struct PmixLibrary {
#define SCELA_PMIX_POINTER(name) decltype(&::name) name = nullptr;
  SCELA_PMIX_FUNCTIONS(SCELA_PMIX_POINTER)
#undef SCELA_PMIX_POINTER
};

// Returns the library of this process, which stays loaded since its threads may run. It is the file
// that SCELA_LIBPMIX names, or libpmix.so.2.
Result<const PmixLibrary*> pmix_library();

}  // namespace scela::channel
