// Flux. An instance runs a broker on each of its hosts, numbered by rank. Batch scripts and
// allocations (flux batch, flux alloc) have an instance of their own; FLUX_JOB_ID is set only in a
// task of a job, for which FLUX_URI names the instance around the job (flux-environment(7)).
#include <map>

#include "common/core/text.h"
#include "launcher/core/detect/host_lists.h"
#include "launcher/core/detect/readers.h"
#include "launcher/core/values/text_values.h"

namespace scela {

bool is_one_host_task_of_flux(const Environment& environment) {
  return environment.find("FLUX_JOB_ID") && environment.value("FLUX_JOB_NNODES") == "1";
}

Result<std::optional<Allocation>> read_flux(const Environment& environment, const Sources& read) {
  const auto uri = environment.find("FLUX_URI");
  if (!uri) return std::nullopt;
  if (const auto job = environment.find("FLUX_JOB_ID")) {
    return fail(Error{ErrorKind::usage, "", cat("FLUX_JOB_ID=", *job),
                      "scela-run is a task of this job, which has no instance of Flux of its own",
                      "start scela-run itself by flux batch or flux alloc"});
  }
  Allocation out;
  out.scheduler = Scheduler::flux;
  out.job_id = environment.value("FLUX_ENCLOSING_ID");
  out.source = cat("FLUX_URI=", *uri, ", flux getattr hostlist");
  const auto failed = [&](Error error) {
    error.where = cat("FLUX_URI=", *uri);
    return fail(std::move(error));
  };
  auto text = read.command({"flux", "getattr", "hostlist"});
  if (!text) {
    text.error().hint = "has the instance ended? unset FLUX_URI";
    return failed(std::move(text.error()));
  }
  auto names = expand_node_list(trim(*text));
  if (!names) return failed(std::move(names.error()));
  // The hosts are in the order of the brokers' ranks. A host that has several brokers, as in tests
  // of Flux itself, counts once.
  std::map<std::string, std::size_t> known;
  for (std::uint32_t rank = 0; rank < names->size(); ++rank) {
    if (known.emplace((*names)[rank], rank).second)
      out.hosts.push_back({(*names)[rank], std::nullopt, std::nullopt, rank});
  }
  return out;
}

}  // namespace scela
