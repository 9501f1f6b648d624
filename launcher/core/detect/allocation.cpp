#include "launcher/core/detect/allocation.h"

#include "common/core/counted.h"
#include "common/core/text.h"

namespace scela {
namespace {

struct Names {
  Scheduler scheduler;
  std::string_view name;
  std::string_view word;
};

constexpr Names kNames[] = {
    {Scheduler::flux, "Flux", "flux"},
    {Scheduler::slurm, "Slurm", "slurm"},
    {Scheduler::lsf, "LSF", "lsf"},
    {Scheduler::grid_engine, "Grid Engine", "sge"},
    {Scheduler::pbs, "PBS", "pbs"},
    {Scheduler::cobalt, "Cobalt", "cobalt"},
    {Scheduler::load_leveler, "LoadLeveler", "loadl"},
    {Scheduler::condor, "HTCondor", "condor"},
    {Scheduler::pmix, "a PMIx server", "pmix"},
    {Scheduler::host_file, "a default host file", ""},
};

// Returns the sum of a field of all hosts, or std::nullopt if a host lacks it.
std::optional<std::uint64_t> total(const std::vector<AllocatedHost>& hosts,
                                   std::optional<std::uint32_t> AllocatedHost::*field) {
  std::uint64_t sum = 0;
  for (const AllocatedHost& host : hosts) {
    if (!(host.*field)) return std::nullopt;
    sum += *(host.*field);
  }
  return sum;
}

}  // namespace

std::string_view name_of(Scheduler scheduler) {
  return kNames[static_cast<std::size_t>(scheduler)].name;
}

std::string_view word_of(Scheduler scheduler) {
  return kNames[static_cast<std::size_t>(scheduler)].word;
}

std::string allocation_text(const Allocation& allocation) {
  std::string out(name_of(allocation.scheduler));
  if (!allocation.job_id.empty()) out += cat(", job ", allocation.job_id);
  out += cat(": ", counted(allocation.hosts.size(), "host"));
  if (const auto slots = total(allocation.hosts, &AllocatedHost::slots))
    out += cat(", ", counted(*slots, "slot"));
  if (const auto cpus = total(allocation.hosts, &AllocatedHost::cpus))
    out += cat(", ", counted(*cpus, "processor"));
  return cat(out, " (", allocation.source, ")");
}

}  // namespace scela
