// A resource manager with a PMIx server. The variables that name a server (PMIX_SERVER_URI*) are in
// the environment of each process that any PMIx server has started, so they prove no allocation.
// The server is asked by scela-pmix, which decides if it may be (pmix/server/tool.h).
#include <algorithm>

#include "common/core/requests/resource_text.h"
#include "common/core/text.h"
#include "launcher/core/detect/host_lists.h"
#include "launcher/core/detect/readers.h"

namespace scela {
namespace {

// The variables that name a server, the newest first.
constexpr std::string_view kServers[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                                         "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                         "PMIX_SERVER_URI2"};

// Returns the variable that names the server, as "NAME=VALUE", or "" if there is none.
std::string server_variable(const Environment& environment) {
  for (const std::string_view name : kServers)
    if (const auto value = environment.find(name)) return cat(name, "=", *value);
  return {};
}

// Returns the source of an error or of an allocation, as the user reads it.
std::string source_of(const Environment& environment) {
  const std::string variable = server_variable(environment);
  return variable.empty() ? std::string("a PMIx server of this machine") : variable;
}

// Returns true if a variable names a server that may have an allocation. That of a rank of
// scela-run has none.
bool names_server(const Environment& environment) {
  return !server_variable(environment).empty() && !environment.find("SCELA_JOB_ID");
}

// Returns true if the server is that of mpirun of Open MPI 4, which crashes if a tool connects.
bool is_fragile(const Environment& environment) {
  return environment.find("OMPI_MCA_orte_hnp_uri").has_value();
}

}  // namespace

bool tells_node_losses(Scheduler scheduler, const Environment& environment) {
  if (scheduler == Scheduler::pmix) return true;
  return scheduler != Scheduler::host_file && names_server(environment) && !is_fragile(environment);
}

Result<std::optional<Allocation>> read_pmix(const Environment& environment, const Sources& read) {
  if (!read.asks_pmix && !names_server(environment)) return std::nullopt;
  const std::string source = source_of(environment);
  if (is_fragile(environment)) {
    return fail(Error{ErrorKind::usage, "", source,
                      "it is that of mpirun of Open MPI 4, which crashes if a tool connects to it",
                      ""});
  }
  std::vector<std::string> words = {std::string(kPmixTool), "--allocation"};
  if (read.asks_pmix) words.emplace_back("--asked");
  const auto failed = [&](Error error) {
    error.where = source;
    return fail(std::move(error));
  };
  auto text = read.command(words);
  if (!text) return failed(std::move(text.error()));
  auto answer = read_resource_answer(*text);
  if (!answer) return failed(std::move(answer.error()));
  Allocation out;
  out.scheduler = Scheduler::pmix;
  out.source = cat(source, ", ", answer->query);
  HostTally limits;
  for (ResourceHost& host : answer->hosts) {
    if (auto sound = limits.add(host.name, host.slots.value_or(1)); !sound)
      return failed(std::move(sound.error()));
    if (host.slots) host.slots = std::min(*host.slots, kMaxOfHost);
    out.hosts.push_back({std::move(host.name), host.slots, std::nullopt});
  }
  return out;
}

}  // namespace scela
