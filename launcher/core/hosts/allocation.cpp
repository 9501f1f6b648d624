#include "launcher/core/hosts/allocation.h"

#include <set>
#include <string_view>

#include "common/core/nodeset/nodeset.h"
#include "common/core/text.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

enum class Form : unsigned char {
  node_set,  // the variable is a list: n[1-4],m1
  // The variable names a file. The first word of each of its lines is the name of a host.
  host_file,
};

struct Scheduler {
  std::string_view name;
  std::string_view variable;
  Form form;
  std::string_view advice;
};

constexpr Scheduler kSchedulers[] = {
    {"Slurm", "SLURM_JOB_NODELIST", Form::node_set, "-w \"$SLURM_JOB_NODELIST\""},
    {"PBS", "PBS_NODEFILE", Form::host_file, "-w \"$(sort -u $PBS_NODEFILE | paste -sd,)\""},
    {"LSF", "LSB_DJOB_HOSTFILE", Form::host_file,
     "-w \"$(sort -u $LSB_DJOB_HOSTFILE | paste -sd,)\""},
    {"Grid Engine", "PE_HOSTFILE", Form::host_file,
     "-w \"$(cut -d' ' -f1 $PE_HOSTFILE | paste -sd,)\""},
};

std::string_view value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view variable : environment) {
    if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=')
      return variable.substr(name.size() + 1);
  }
  return {};
}

// Returns "node1" for "node1.cluster.example".
std::string short_name(std::string_view host) {
  return std::string(host.substr(0, host.find('.')));
}

std::set<std::string> hosts_of_file(std::string_view text) {
  std::set<std::string> out;
  for (const std::string& line : split_list(text, '\n')) {
    const std::string_view words = trim(line);
    const std::string_view host = words.substr(0, words.find_first_of(" \t"));
    if (!host.empty()) out.insert(short_name(host));
  }
  return out;
}

std::set<std::string> hosts_of_set(std::string_view text) {
  const auto set = NodeSet::parse(text);
  if (!set) return {std::string(text)};
  std::set<std::string> out;
  for (const std::string& host : set->expand())
    out.insert(short_name(host));
  return out;
}

}  // namespace

std::optional<std::string> ignored_allocation(
    const std::vector<std::string>& environment, const std::string& host_name,
    const std::function<std::string(const std::string& path)>& read_file) {
  for (const Scheduler& one : kSchedulers) {
    const std::string_view value = value_of(environment, one.variable);
    if (value.empty()) continue;
    const std::set<std::string> hosts = one.form == Form::node_set
                                            ? hosts_of_set(value)
                                            : hosts_of_file(read_file(std::string(value)));
    if (hosts.empty() || (hosts.size() == 1 && *hosts.begin() == short_name(host_name))) continue;
    return cat("the hosts of this job of ", one.name, " (", one.variable, "=", value,
               ") are not used: all ranks run on this machine (name them with ", one.advice, ")");
  }
  return std::nullopt;
}

}  // namespace scela
