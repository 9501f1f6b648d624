// scela-pmix as a tool of a resource manager's PMIx server: it asks for the allocation, or listens
// for lost nodes. scela-run starts it (launcher/hosts/node_losses.h,
// launcher/hosts/job_allocation.cpp), and pmix/server/main.cpp calls these functions. The text that
// they write is that of common/core/requests/resource_text.h.
//
// The server is the one that variables PMIX_SERVER_URI* name. The tool does not use the name of the
// process for which they are (PMIX_NAMESPACE, PMIX_RANK): the resource manager would be told of a
// second process of that name. libpmix may wait for ever, so scela-run limits the time.
//
// The functions block, and belong to the main thread. They return an exit status, and on a failure
// say why on standard error.
#pragma once

#include <cstdint>

namespace scela::pmix {

// Says if scela-run was told to ask (--launch pmix).
enum class ToolWish : std::uint8_t {
  // No: the variables have named a server. It is not asked if scela-run is one of several processes
  // of a job, each of which would start a job on all hosts.
  automatic,
  // Yes: without such a variable, libpmix looks for a server on this machine.
  asked,
};

// Says what follows the allocation.
enum class AfterAllocation : std::uint8_t {
  nothing,
  losses,  // what tell_lost_nodes() writes; no loss between the answer and the listening is missed
};

// Writes the allocation. Returns 69 if no server is there, or if it tells none.
int tell_allocation(ToolWish wish, AfterAllocation after);
// Writes a line for each node that the server says is lost, until the server or standard output is
// gone.
int tell_lost_nodes();

}  // namespace scela::pmix
