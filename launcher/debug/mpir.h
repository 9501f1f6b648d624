// The MPIR interface: variables and a function by which debuggers and tools find the processes of a
// job in the memory of the program that has started them.
//
// Source: "The MPIR Process Acquisition Interface", version 1.1 (MPI Forum). Debuggers set a
// breakpoint at MPIR_Breakpoint and read MPIR_proctable there. scela-run fills the table if a
// debugger has set MPIR_being_debugged, in one of two ways: it starts a job with ranks that are
// stopped before their first instruction until MPIR_Breakpoint returns; or it is told to attach to
// a job that runs (attach.h). One thread uses these functions.
#pragma once

#include <string>
#include <vector>

#include "launcher/core/debug/process_table.h"

namespace scela {

// Returns true if a debugger has set MPIR_being_debugged.
bool is_debugged();

// Returns the program that a debugger wants on each node, MPIR_executable_path, and its arguments,
// MPIR_server_arguments. It is empty if there is none.
std::vector<std::string> tool_words();

// Fills MPIR_proctable and totalview_jobid, sets MPIR_debug_state to MPIR_DEBUG_SPAWNED and calls
// MPIR_Breakpoint(), where a debugger stops this process. Entry number i is the i-th of `table`.
void publish_processes(const std::vector<TableEntry>& table, const std::string& job_id);

// If a debugger is there: sets MPIR_debug_abort_string and the state MPIR_DEBUG_ABORTING, and calls
// MPIR_Breakpoint().
void publish_abort(const std::string& why);

}  // namespace scela
