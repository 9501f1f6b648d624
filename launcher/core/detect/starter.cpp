#include "launcher/core/detect/starter.h"

#include "common/core/text.h"

namespace scela {
namespace {

// Returns the path of a program in a directory that variables name. The command is cut at blanks
// later, so a directory with one in its name cannot be used.
std::string in_directory(const std::string& directory, std::string_view program) {
  if (directory.empty() || directory.find(' ') != std::string::npos) return std::string(program);
  return cat(directory, "/", program);
}

}  // namespace

Starter starter_of(Scheduler scheduler, const Environment& environment) {
  switch (scheduler) {
    case Scheduler::grid_engine: {
      const std::string_view root = environment.value("SGE_ROOT");
      const std::string_view arch = environment.value("ARC");
      const std::string directory =
          root.empty() || arch.empty() ? std::string() : cat(root, "/bin/", arch);
      return {StarterKind::per_host, cat(in_directory(directory, "qrsh"), " -inherit")};
    }
    case Scheduler::lsf:
      // Not with -n, which would close the agent's standard input.
      return {StarterKind::per_host,
              in_directory(std::string(environment.value("LSF_BINDIR")), "blaunch")};
    case Scheduler::condor:
      return {StarterKind::per_host, "condor_ssh"};
    case Scheduler::slurm:
      return {StarterKind::bulk, "srun"};
    case Scheduler::flux:
      return {StarterKind::bulk, "flux exec"};
    case Scheduler::pbs:
      // Tasks of pbsdsh and of pbs_tmrsh, which has the arguments of rsh, read nothing from its
      // standard input, and their output goes to the files of the job (bulk_command.h).
      return {StarterKind::unusable, "pbsdsh"};
    case Scheduler::cobalt:
    case Scheduler::load_leveler:
    case Scheduler::pmix:
    case Scheduler::host_file:
      break;
  }
  return {};
}

std::string_view container_starter(std::string_view name) {
  if (name == "kubectl") return "kubectl exec -i {host} -- /bin/sh -c {command}";
  if (name == "podman") return "podman exec -i {host} /bin/sh -c {command}";
  if (name == "docker") return "docker exec -i {host} /bin/sh -c {command}";
  return {};
}

}  // namespace scela
