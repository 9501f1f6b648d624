#include "launcher/plan/begin_event.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "common/os/private_dir.h"
#include "launcher/plan/host_topologies.h"
#include "nla/core/wire/contact.h"
#include "nla/io/address.h"
#include "nla/io/agent_file.h"
#include "nla/io/shell_settings.h"
#include "nla/pack/agent_package.h"

namespace scela {

namespace {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// Bytes. Larger: machines with a small /dev/shm, as containers have, start simulated nodes slowly.
// Smaller: ranks that write into their node's directory may find it full.
constexpr std::uint64_t kFreeForNodes = std::uint64_t{1} << 30;

// Returns the base of the nodes' directories, or an empty string if each agent chooses it. A disk
// may take 1 ms for each directory or socket. That is little for a machine, but much for simulated
// nodes, of which one machine has dozens. So theirs are in memory, if the user names no place.
std::string base_of_directories(const Plan& plan) {
  const bool simulates = !plan.remote && plan.nodes_on_this_machine > 1;
  return simulates && std::getenv("TMPDIR") == nullptr ? memory_base(kFreeForNodes) : "";
}

// Returns the address by which agents on other machines reach this machine. Returns an empty string
// if there are none, or if no route to any of them is known.
std::string own_address(const std::vector<std::string>& contacts) {
  for (const std::string& line : contacts) {
    const auto contact = nla::parse_contact(line);
    if (!contact || contact->here()) continue;
    const auto there = nla::parse_address(contact->address, contact->port);
    if (const auto own = there ? nla::address_towards(*there) : std::nullopt) return *own;
  }
  return {};
}

// Returns the digests of the package that is sent to hosts without the agent, or an empty string if
// there is none. `with_leaf`: agents send small ones on.
std::string package_digests(const std::string& agent, bool with_leaf) {
  const auto file = nla::AgentFile::open(agent, "");
  auto package = file ? nla::find_package(agent, file->build()) : fail(file.error());
  if (!package) return {};
  if (!with_leaf) package->leave_leaf_out();
  return package->facts().digests.text();
}

// Returns true if agents that start no others may be without TLS and the copy of scela-pmix. A
// command that runs once on each host ends before its links would change to TCP.
bool may_be_small(const Options& options, const Plan& plan) {
  if (plan.job.pmi == nla::PmiKind::pmix) return false;
  return options.link == LinkKind::ssh ||
         (options.link == LinkKind::automatic && plan.once_per_host);
}

// Returns true if pairs travel with fences. Otherwise each pair that a rank puts is a request, or
// the pairs have owners on other nodes.
bool pairs_wait_for_fences(cache::PolicyKind policy) {
  return policy != cache::PolicyKind::hcs && policy != cache::PolicyKind::dht;
}

}  // namespace

bool launches_early(const Options& options, const Plan& plan) {
  const nla::Job& job = plan.job;
  const bool needs_all = plan.min_nodes > 0 || job.on_failure == nla::OnFailure::kill ||
                         job.pmi == nla::PmiKind::pmix || job.training.styles.any();
  const bool is_watched = plan.pty || plan.panes || options.show_map ||
                          !job.stops.on_exec.empty() || !job.debugged_ranks.empty();
  return plan.once_per_host && plan.degree >= plan.hosts.size() && !needs_all && !is_watched &&
         pairs_wait_for_fences(job.cache_policy) && !needs_topologies(plan, options);
}

nla::event::Begin make_begin_event(const Options& options, const Plan& plan,
                                   const std::string& agent, std::vector<std::string> contacts,
                                   std::int64_t now_ns) {
  nla::Settings settings;
  settings.record = options.record.value_or("");
  settings.directory = base_of_directories(plan);
  settings.shares = plan.nodes_on_this_machine;
  settings.measure = options.stats != StatsFormat::none;
  settings.usage = options.json.has_value();
  settings.trace = options.trace.has_value();
  settings.topology = needs_topologies(plan, options);
  if (plan.job.training.styles.any()) settings.rendezvous = plan.job.map.node_of(0).value_or(0);
  settings.boot_id = boot_id();
  settings.address = own_address(contacts);
  settings.network = options.network;
  settings.fanout = options.fanout;
  settings.forward_agent = options.forward_agent;
  settings.connect_ms = static_cast<std::uint32_t>(options.connect_timeout.count());
  settings.link = options.link == LinkKind::ssh   ? nla::kLinkSsh
                  : options.link == LinkKind::tcp ? nla::kLinkTcp
                                                  : nla::kLinkAuto;
  settings.heartbeat_ms = static_cast<std::uint32_t>(options.heartbeat.count());
  settings.node_env = plan.remote;
  settings.pmi_guessed = plan.pmi_choice.guessed;
  if (options.launch == LaunchMethod::program) settings.launch = options.launch_program;
  if (plan.remote) {
    settings.agent = options.agent.value_or(agent);
    settings.leaf_agents = may_be_small(options, plan);
    settings.package = package_digests(agent, settings.leaf_agents);
    settings.agent_cache = !options.no_agent_cache;
  }
  nla::event::Begin begin;
  begin.job_id = plan.job.id;
  begin.hosts = std::move(contacts);
  begin.degree = plan.degree;
  begin.grace_ms = static_cast<std::uint32_t>(options.grace.count());
  begin.settings = format(settings);
  if (plan.job.on_failure == nla::OnFailure::wait) {
    begin.adopt_ms = static_cast<std::uint32_t>(options.adopt_timeout.count());
  }
  begin.clock_ns = static_cast<std::uint64_t>(now_ns);
  return begin;
}

}  // namespace scela
