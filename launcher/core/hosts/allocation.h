// Detects allocations of batch schedulers from the environment of a job script. scela-run does not
// use their hosts, and it says so if it would run all ranks on this machine. launcher/command.cpp
// uses it. The function is pure except for `read_file`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace scela {

// Returns a line for the user if the environment (entries "NAME=VALUE") has an allocation with
// hosts other than `host_name`, this machine. Returns std::nullopt if it has none. The function
// knows Slurm, PBS, LSF and Grid Engine. The line names the scheduler, the variable, and the option
// with which the hosts are given. `read_file` returns the text of a host file. An empty text, also
// for a file that cannot be read, names no hosts.
std::optional<std::string> ignored_allocation(
    const std::vector<std::string>& environment, const std::string& host_name,
    const std::function<std::string(const std::string& path)>& read_file);

}  // namespace scela
