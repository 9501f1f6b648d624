// Allocations of batch schedulers, told from the environment that a job script is given.
//
// scela-run does not read them: it says so where it would run all ranks on this machine. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace scela {

// A line for the user if the environment ("NAME=VALUE" each) is that of an allocation of Slurm,
// PBS, LSF or Grid Engine with other hosts than `host_name`, this machine. It names the scheduler,
// the variable, and the option by which the hosts are given. `read_file` gives the text of a host
// file; an empty one, or one that cannot be read, names no hosts.
std::optional<std::string> ignored_allocation(
    const std::vector<std::string>& environment, const std::string& host_name,
    const std::function<std::string(const std::string& path)>& read_file);

}  // namespace scela
