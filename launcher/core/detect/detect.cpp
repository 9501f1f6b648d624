#include "launcher/core/detect/detect.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela {
namespace {

// The readers in the order of kSchedulers.
constexpr AllocationReader kReaders[] = {
    read_flux,   read_slurm,        read_lsf,    read_grid_engine, read_pbs,
    read_cobalt, read_load_leveler, read_condor, read_pmix,        read_host_file};
static_assert(std::size(kReaders) == std::size(kSchedulers));

// The advice is the same for all: the user may have other hosts in mind, or none.
constexpr std::string_view kGoOn = "name hosts with -w, or give --launch local";

Error cannot_use(Scheduler scheduler, Error error) {
  error.kind = ErrorKind::usage;
  error.what = cat("read the allocation of ", name_of(scheduler));
  error.hint += cat(error.hint.empty() ? "" : ", ", kGoOn);
  return error;
}

// Returns the allocation of one scheduler, with at least one host.
Result<std::optional<Allocation>> read_one(Scheduler scheduler, const Environment& environment,
                                           const Sources& read) {
  auto found = kReaders[static_cast<std::size_t>(scheduler)](environment, read);
  if (!found) return fail(cannot_use(scheduler, std::move(found.error())));
  if (*found && (*found)->hosts.empty()) {
    return fail(cannot_use(scheduler,
                           Error{ErrorKind::usage, "", (*found)->source, "it names no hosts", ""}));
  }
  return found;
}

// Returns true if an allocation of the scheduler that cannot be read is set aside only. Variables
// of a task of Flux or of any process of PMIx prove no allocation.
bool may_be_unreadable(Scheduler scheduler, const Environment& environment) {
  return scheduler == Scheduler::pmix ||
         (scheduler == Scheduler::flux && is_one_host_task_of_flux(environment));
}

bool has_host(const Allocation& allocation, std::string_view host_name) {
  return std::ranges::any_of(allocation.hosts, [&](const AllocatedHost& host) {
    return is_same_machine(host.name, host_name);
  });
}

Result<Detection> detect_wanted(const DetectRequest& request, Sources read) {
  read.asks_pmix = *request.wanted == Scheduler::pmix;
  auto found = read_one(*request.wanted, Environment(request.environment), read);
  if (!found) return fail(std::move(found.error()));
  if (*found) return Detection{std::move(*found), {}};
  return fail(Error{ErrorKind::usage,
                    cat("find the job of ", name_of(*request.wanted), " (--launch ",
                        word_of(*request.wanted), ")"),
                    "", "no variable of such a job is set",
                    "run scela-run in a script of such a job, or leave --launch out"});
}

}  // namespace

bool is_same_machine(std::string_view host, std::string_view host_name) {
  const auto extends = [](std::string_view name, std::string_view other) {
    return name.size() > other.size() && name.starts_with(other) && name[other.size()] == '.';
  };
  return !host.empty() && !host_name.empty() &&
         (host == host_name || extends(host, host_name) || extends(host_name, host));
}

Result<Detection> detect(const DetectRequest& request, const Sources& read) {
  if (request.wanted) return detect_wanted(request, read);
  const Environment environment(request.environment);
  Detection out;
  std::vector<Allocation> found;
  std::optional<Error> first_error;
  for (const Scheduler scheduler : kSchedulers) {
    // A server is asked only if nothing else tells hosts, because that takes time.
    if (scheduler == Scheduler::pmix && (!found.empty() || first_error)) continue;
    auto one = read_one(scheduler, environment, read);
    if (!one) {
      out.set_aside.push_back({scheduler, one.error().text()});
      if (!first_error && !may_be_unreadable(scheduler, environment))
        first_error = std::move(one.error());
    } else if (*one) {
      found.push_back(std::move(**one));
    }
  }
  if (found.empty() && first_error) return fail(std::move(*first_error));
  auto chosen = std::ranges::find_if(found, [&](const Allocation& allocation) {
    return allocation.scheduler != Scheduler::host_file && has_host(allocation, request.host_name);
  });
  if (chosen == found.end()) chosen = found.begin();
  for (auto one = found.begin(); one != found.end(); ++one)
    if (one != chosen) out.set_aside.push_back({one->scheduler, allocation_text(*one)});
  if (chosen != found.end()) out.allocation = std::move(*chosen);
  return out;
}

}  // namespace scela
