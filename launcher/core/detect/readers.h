// The readers of single schedulers: each knows the variables and files of one. detect.cpp has the
// table of them and uses them. Adding a scheduler means: a reader here, a row there, an entry in
// allocation.cpp, and a recorded environment in detect_test.cpp.
//
// All readers are pure except for `read`. They return an error (kind usage) with the text that was
// not understood; `where` has the variable or file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/detect/allocation.h"
#include "launcher/core/detect/environment.h"

namespace scela {

// Returns the text of a file, or an error that says why it cannot be read.
using FileReader = std::function<Result<std::string>(const std::string& path)>;
// Returns the standard output of a command, of which the first word is the program. Returns an
// error that says why it could not be run, or how it has failed, with its own words.
using CommandReader = std::function<Result<std::string>(const std::vector<std::string>& words)>;

// The sources that readers ask, besides the environment.
struct Sources {
  FileReader file;
  CommandReader command;
  // --launch pmix: a PMIx server is asked even if no variable names one, and libpmix looks for it.
  bool asks_pmix = false;
};

// Returns the allocation, or std::nullopt if the environment shows no job of this scheduler.
using AllocationReader = Result<std::optional<Allocation>> (*)(const Environment& environment,
                                                               const Sources& read);

Result<std::optional<Allocation>> read_slurm(const Environment& environment, const Sources& read);
Result<std::optional<Allocation>> read_lsf(const Environment& environment, const Sources& read);
Result<std::optional<Allocation>> read_grid_engine(const Environment& environment,
                                                   const Sources& read);
Result<std::optional<Allocation>> read_pbs(const Environment& environment, const Sources& read);
Result<std::optional<Allocation>> read_cobalt(const Environment& environment, const Sources& read);
Result<std::optional<Allocation>> read_load_leveler(const Environment& environment,
                                                    const Sources& read);
// The contact file of a parallel job has a line "NUMBER HOST PORT USER ..." for each slot, which
// the job's script has written there. condor_ssh takes HOST, and finds the port and the key itself.
Result<std::optional<Allocation>> read_condor(const Environment& environment, const Sources& read);
// An instance of Flux tells its hosts and cores to commands only (flux getattr hostlist, flux kvs
// get resource.R). A task of a job has no instance of its own, which is an error;
// is_one_host_task_of_flux() says if that matters.
Result<std::optional<Allocation>> read_flux(const Environment& environment, const Sources& read);
bool is_one_host_task_of_flux(const Environment& environment);
// A resource manager tells its hosts to a tool of PMIx only. The command is kPmixTool with its
// words, of which the caller knows where the program is.
Result<std::optional<Allocation>> read_pmix(const Environment& environment, const Sources& read);
inline constexpr std::string_view kPmixTool = "scela-pmix";
// Returns true if a PMIx server may tell of lost nodes of a job on hosts of this scheduler: that
// which has told the hosts, or the one beside the scheduler that has.
bool tells_node_losses(Scheduler scheduler, const Environment& environment);
Result<std::optional<Allocation>> read_host_file(const Environment& environment,
                                                 const Sources& read);

}  // namespace scela
