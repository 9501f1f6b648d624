// Finds the allocation in which scela-run runs, from its environment.
// launcher/hosts/job_allocation.cpp uses it.
//
// detect(environment) is the first of the three functions that a scheduler has here. The others are
// starter_of(), how its agents are started (starter.h), and is_of_task(), which variables ranks
// must not inherit (common/core/variables/task_variables.h).
//
// If an environment has several allocations, the rule is: the first one of kSchedulers that
// has this machine among its hosts; if there is none, the first one. --launch NAME chooses another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/detect/allocation.h"
#include "launcher/core/detect/readers.h"

namespace scela {

// The input of detect().
struct DetectRequest {
  const std::vector<std::string>& environment;  // entries "NAME=VALUE"
  std::string host_name;                        // of this machine
  std::optional<Scheduler> wanted;              // --launch NAME: only this one counts
};

// An allocation that is not used.
struct SetAside {
  Scheduler scheduler = Scheduler::host_file;
  std::string text;  // the allocation, or why it cannot be read
};

// The result of detect().
struct Detection {
  std::optional<Allocation> allocation;
  std::vector<SetAside> set_aside;
};

// Returns what was found, which may be nothing. Returns an error (kind usage) if the only
// allocations cannot be read, or if the wanted one is not there. The error says which variable or
// file was read, what is wrong in it, and how to go on without it. `read` reads host files and runs
// the command that tells the hosts of Flux.
Result<Detection> detect(const DetectRequest& request, const Sources& read);

// Returns true if the scheduler's name for a host and this machine's own name mean the same
// machine: they are equal, or one is the other with a domain behind it.
bool is_same_machine(std::string_view host, std::string_view host_name);

}  // namespace scela
