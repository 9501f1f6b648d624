// Flux. An instance runs a broker on each of its hosts, numbered by rank. Batch scripts and
// allocations (flux batch, flux alloc) have an instance of their own; FLUX_JOB_ID is set only in a
// task of a job, for which FLUX_URI names the instance around the job (flux-environment(7)).
//
// Slots are the cores that the instance has, of its resource set in the key-value store. `flux
// resource R` would tell them too, but it is a program in Python, and takes longer than all else
// before the start of agents.
#include <algorithm>
#include <map>

#include "common/core/text.h"
#include "launcher/core/detect/flux_resources.h"
#include "launcher/core/detect/host_lists.h"
#include "launcher/core/detect/readers.h"
#include "launcher/core/values/text_values.h"

namespace scela {

namespace {

// Adds the cores of the instance as slots, if Flux tells them: it does to the owner of the
// instance. Hosts without slots get one rank each.
void add_slots(Allocation& out, const std::vector<RankSet>& brokers, const Sources& read) {
  const auto text = read.command({"flux", "kvs", "get", "resource.R"});
  const auto set = text ? parse_flux_resources(*text) : std::nullopt;
  if (!set) return;
  for (std::size_t i = 0; i < out.hosts.size(); ++i) {
    RankSet cores;
    brokers[i].for_each([&](Rank broker) { cores.add(cores_of(*set, broker)); });
    if (cores.empty()) continue;
    out.hosts[i].slots =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(cores.size(), kMaxOfHost));
  }
  out.source += ", flux kvs get resource.R";
}

}  // namespace

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
  std::vector<RankSet> brokers;  // of each host
  for (std::uint32_t rank = 0; rank < names->size(); ++rank) {
    const auto [at, is_new] = known.emplace((*names)[rank], out.hosts.size());
    if (is_new) {
      out.hosts.push_back({(*names)[rank], std::nullopt, std::nullopt, rank});
      brokers.emplace_back();
    }
    brokers[at->second].add(rank);
  }
  if (!out.hosts.empty()) add_slots(out, brokers, read);
  return out;
}

}  // namespace scela
