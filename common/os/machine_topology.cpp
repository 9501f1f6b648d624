#include "common/os/machine_topology.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "common/core/text.h"
#include "common/os/affinity.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

constexpr int kMaxCaches = 16;

// Returns a file's text without its newline. It is empty if there is no such file, or no text in
// it.
std::string text_of(const std::string& path) {
  std::string text = read_small_file(path.c_str());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0'))
    text.pop_back();
  return text;
}

// Reads a list such as "0-3,8". The set is empty if there is no such file.
CpuSet cpus_in(const std::string& path) {
  auto set = CpuSet::parse(text_of(path));
  if (!set || set->empty() || set->ranges().back().last >= kMaxCpus) return {};
  return std::move(*set);
}

// Reads numbers between blanks, up to a word that is none. Not by the classes of <sstream>: they
// bring the locales of C++, a third of the small agent (nla/leaf.cpp).
std::vector<std::uint32_t> numbers_in(const std::string& text) {
  std::vector<std::uint32_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint32_t number = 0;; out.push_back(number)) {
    while (at != end && *at == ' ')
      ++at;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc()) return out;
    at = read.ptr;
  }
}

class Reader {
 public:
  Reader(const std::string& root, const CpuSet& online)
      : cpus_(root + "/sys/devices/system/cpu/cpu"),
        nodes_(root + "/sys/devices/system/node/"),
        online_(online) {}

  std::vector<Processor> read() {
    online_.for_each([&](std::uint32_t cpu) {
      Processor& one = processors_[cpu];
      one.cpu = cpu;
      one.core = kNoObject;
      one.socket = kNoObject;
      one.numa = kNoObject;
    });
    read_numa();
    for (auto& [cpu, one] : processors_) {
      const std::string base = cat(cpus_, cpu, "/topology/");
      if (one.core == kNoObject) {
        group(cpu, &Processor::core, {base + "core_cpus_list", base + "thread_siblings_list"}, cpu);
      }
      if (one.socket == kNoObject) {
        group(cpu, &Processor::socket, {base + "package_cpus_list", base + "core_siblings_list"},
              processors_.begin()->first);
      }
      if (one.l3 == kNoObject) read_l3(cpu);
      if (one.numa == kNoObject) one.numa = kMaxCpus;  // no known domain: one for all such
    }
    std::vector<Processor> out;
    for (const auto& [cpu, one] : processors_)
      out.push_back(one);
    return out;
  }

 private:
  using Files = std::vector<std::string>;

  // Gives all processors of an object the number of its first one, or `otherwise` if no file names
  // them.
  void group(std::uint32_t cpu, std::uint32_t Processor::*kind, const Files& files,
             std::uint32_t otherwise) {
    for (const std::string& file : files) {
      const CpuSet members = cpus_in(file);
      if (!members.contains(cpu)) continue;
      const std::uint32_t number = members.front();
      return members.for_each([&](std::uint32_t one) {
        const auto at = processors_.find(one);
        if (at != processors_.end()) at->second.*kind = number;
      });
    }
    processors_[cpu].*kind = otherwise;
  }

  void read_l3(std::uint32_t cpu) {
    for (int i = 0; i < kMaxCaches; ++i) {
      const std::string base = cat(cpus_, cpu, "/cache/index", i, "/");
      const std::string level = text_of(base + "level");
      if (level.empty()) return;
      if (level == "3" && text_of(base + "type") != "Instruction") {
        return group(cpu, &Processor::l3, {base + "shared_cpu_list"}, kNoObject);
      }
    }
  }

  void read_numa() {
    cpus_in(nodes_ + "online").for_each([&](std::uint32_t node) {
      cpus_in(cat(nodes_, "node", node, "/cpulist")).for_each([&](std::uint32_t cpu) {
        const auto at = processors_.find(cpu);
        if (at != processors_.end() && at->second.numa == kNoObject) at->second.numa = node;
      });
    });
  }

  std::string cpus_;
  std::string nodes_;
  CpuSet online_;
  std::map<std::uint32_t, Processor> processors_;
};

// Returns what this process's control group allows (version 2, else 1). It is empty if no file
// says.
CpuSet cgroup_cpus(const std::string& root) {
  const std::string groups = text_of(root + "/proc/self/cgroup");
  for (std::string_view rest = groups; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    const bool old = controllers == "cpuset";
    if (!old && !controllers.empty()) continue;
    const std::string base = cat(root, "/sys/fs/cgroup", old ? "/cpuset" : "");
    const std::string_view file = old ? "/cpuset.effective_cpus" : "/cpuset.cpus.effective";
    // If the controller is not enabled, or the path is the host's, a group above has the file.
    for (std::string_view group = path; !group.empty(); group = group.substr(0, group.rfind('/'))) {
      const CpuSet cpus = cpus_in(cat(base, group, file));
      if (!cpus.empty()) return cpus;
    }
    if (const CpuSet cpus = cpus_in(cat(base, file)); !cpus.empty()) return cpus;
  }
  return {};
}

// Returns the NUMA domains of which this process may use the memory.
RankSet mems_allowed(const std::string& root) {
  constexpr std::string_view kLine = "\nMems_allowed_list:";
  const std::string status = text_of(root + "/proc/self/status");
  const std::size_t at = status.find(kLine);
  if (at == std::string::npos) return {};
  std::string_view rest = std::string_view(status).substr(at + kLine.size());
  rest = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return RankSet::parse(rest).value_or(RankSet());
}

}  // namespace

Topology read_topology(const std::vector<int>& allowed, const std::string& root) {
  CpuSet may;
  for (const int cpu : allowed)
    may.add(static_cast<std::uint32_t>(cpu));
  CpuSet online = cpus_in(root + "/sys/devices/system/cpu/online");
  online.add(may);  // they exist, whatever the list says
  const Topology machine = Topology::from(Reader(root, online).read());
  const CpuSet group = cgroup_cpus(root);
  const bool by_group = !group.empty() && group.intersection(online) == may;
  return machine.restricted(may, by_group ? Restriction::cgroup : Restriction::affinity);
}

std::vector<MemoryDomain> read_memory_domains(const std::string& root) {
  const std::string nodes = root + "/sys/devices/system/node/";
  const RankSet with_memory = cpus_in(nodes + "has_memory");
  const RankSet allowed = mems_allowed(root);
  std::vector<MemoryDomain> out;
  cpus_in(nodes + "online").for_each([&](std::uint32_t number) {
    const std::string base = cat(nodes, "node", number, "/");
    MemoryDomain domain;
    domain.number = number;
    domain.cpus = cpus_in(base + "cpulist");
    domain.has_memory = with_memory.contains(number) && allowed.contains(number);
    domain.distances = numbers_in(text_of(base + "distance"));
    out.push_back(std::move(domain));
  });
  return out;
}

Topology read_topology() {
  return read_topology(allowed_cpus());
}

}  // namespace scela
