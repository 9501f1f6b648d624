#include "launcher/core/compat/peer_defaults.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/options/command_words.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

Error usage_error(std::string what, std::string why, std::string hint) {
  return Error{ErrorKind::usage, std::move(what), "", std::move(why), std::move(hint)};
}

// Returns the hosts as a value of --hosts. All of them have slots: `forced`, their own, or 1.
std::string with_slots(std::vector<HostEntry> hosts, std::optional<std::uint32_t> forced) {
  std::string out;
  for (HostEntry& host : hosts) {
    host.slots = forced.value_or(host.slots.value_or(1));
    out += cat(out.empty() ? "" : ",", host_text(host));
  }
  return out;
}

// MPIEXEC_TIMEOUT is in seconds. As Hydra, it is no limit if it is no number above 0, and a value
// that is no number is told.
Result<void> add_hydra_timeout(PeerCall& call) {
  const std::string* value = call.variable("MPIEXEC_TIMEOUT");
  if (value == nullptr) return {};
  const auto seconds = parse_number(*value, 0, 1'000'000'000);
  if (seconds) return call.add(cat("--timeout=", *seconds));
  if (!value->starts_with('-')) {
    call.notes.push_back(cat("warning: the variable MPIEXEC_TIMEOUT is no number of seconds: '",
                             *value, "'; the job has no time limit"));
  }
  return {};
}

// Hydra fills the slots of its hosts in turn, as often as it takes, and -ppn is the number of
// slots. Without a number of ranks there is one for each slot; without hosts these are the slots of
// a scheduler's job, which scela-run finds, or one of this machine.
Result<void> add_hydra_defaults(PeerCall& call) {
  PeerProgram& first = call.programs.front();
  if (const std::string* file = call.variable("HYDRA_HOST_FILE"); file && first.hosts.empty()) {
    auto text = call.read(*file);
    if (!text) return fail(std::move(text.error()));
    auto hosts = parse_hostfile(*text, *file);
    if (!hosts) return fail(std::move(hosts.error()));
    first.hosts = std::move(*hosts);
  }
  std::uint64_t slots = first.per_node.value_or(1);
  if (!first.hosts.empty()) {
    slots = 0;
    for (const HostEntry& host : first.hosts)
      slots += first.per_node.value_or(host.slots.value_or(1));
    // A host that is named twice has the slots of -ppn once.
    if (first.per_node) {
      std::vector<HostEntry> once;
      for (HostEntry& host : first.hosts) {
        if (std::ranges::find(once, host.name, &HostEntry::name) == once.end())
          once.push_back(std::move(host));
      }
      first.hosts = std::move(once);
      slots = std::uint64_t{first.hosts.size()} * *first.per_node;
    }
    first.options.push_back(cat("--hosts=", with_slots(first.hosts, first.per_node)));
  }
  if (auto done = call.add_default("oversubscribe"); !done) return done;
  if (auto done = add_hydra_timeout(call); !done) return done;
  const bool has_slots_of_job = first.hosts.empty() && call.programs.size() == 1;
  for (PeerProgram& program : call.programs) {
    if (PeerCall::has(program, "np")) continue;
    if (!has_slots_of_job) {
      program.options.push_back(cat("--np=", slots));
    } else if (first.per_node) {
      program.options.push_back(cat("--ppn=", *first.per_node));
    }
  }
  return {};
}

// Open MPI has a slot for each mention of a host, or for each core of a host of a file and of this
// machine. Without a number of ranks there is one for each slot.
Result<void> add_openmpi_defaults(PeerCall& call) {
  // Agents put each rank's own number in its place, and add the variables that belong to it.
  if (auto done = call.add("--genv=OMPI_COMM_WORLD_RANK=0"); !done) return done;
  const bool is_placed = call.has("map-by") || call.has("rankfile");
  bool counts_cores = call.has("hostfile");
  for (PeerProgram& program : call.programs) {
    const bool has_number = PeerCall::has(program, "np") || program.per_node;
    if (!program.hosts.empty()) {
      const std::uint32_t each = program.per_node.value_or(1);
      for (HostEntry& host : program.hosts)
        host.slots = host.slots.value_or(each);
      program.options.push_back(cat("--hosts=", with_slots(program.hosts, std::nullopt)));
    } else if (!has_number && is_placed && call.has("hostfile") && !call.has("rankfile")) {
      program.options.emplace_back("--ppn=1");
    } else if (!has_number) {
      counts_cores = true;
    }
  }
  if (!counts_cores || is_placed) return {};
  if (auto done = call.add("--map-by=core"); !done) return done;
  if (call.has("cpus-per-rank")) return {};
  return call.add_default("bind-to", "none");
}

// Returns the hosts of srun: those of -w and -F, else those of the allocation in the environment.
Result<std::vector<HostEntry>> srun_hosts(const PeerCall& call) {
  std::string spec;
  for (const std::string& list : call.host_lists)
    spec += cat(spec.empty() ? "" : "\n", list);
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    const std::string* value = call.variable(name);
    if (spec.empty() && value != nullptr) spec = *value;
  }
  std::vector<HostEntry> hosts;
  if (spec.empty()) return hosts;
  auto listed = with_sources(spec, call.read);
  if (!listed) return fail(std::move(listed.error()));
  auto parsed = parse_hosts(*listed);
  if (!parsed) return fail(std::move(parsed.error()));
  hosts = std::move(*parsed);
  for (const std::string& list : call.excluded) {
    auto names = with_sources(list, call.read);
    if (!names) return fail(std::move(names.error()));
    auto left = exclude_hosts(std::move(hosts), *names);
    if (!left) return fail(std::move(left.error()));
    hosts = std::move(*left);
  }
  return hosts;
}

// srun takes the first hosts of those that it has, runs one task on each unless it is told more,
// lets all tasks read standard input, goes on when one fails, and returns the largest status.
Result<void> add_srun_defaults(PeerCall& call) {
  auto hosts = srun_hosts(call);
  if (!hosts) return fail(std::move(hosts.error()));
  const auto [least, most] = call.nodes.value_or(std::pair{1u, kMaxSlots});
  const bool is_here = hosts->empty() && call.first_node == 0 && least == 1;
  if (!is_here && hosts->size() < std::size_t{call.first_node} + least) {
    return fail(usage_error(
        "choose the hosts of srun",
        cat("-N and -r ask for ", call.first_node + least, " of ", hosts->size(), " hosts"),
        "name the hosts by -w LIST: scela-run has no scheduler that chooses them"));
  }
  std::string list;
  for (std::size_t i = call.first_node; i < hosts->size() && i - call.first_node < most; ++i) {
    HostEntry host = (*hosts)[i];
    host.slots.reset();
    list += cat(list.empty() ? "" : ",", host_text(host));
  }
  PeerProgram& first = call.programs.front();
  if (!list.empty()) first.options.push_back(cat("--hosts=", list));
  const std::string* allocated = call.variable("SLURM_NTASKS");
  const bool by_allocation = !list.empty() && call.host_lists.empty() && !call.nodes && allocated;
  for (PeerProgram& program : call.programs) {
    if (PeerCall::has(program, "np") || PeerCall::has(program, "ppn")) continue;
    if (by_allocation && call.programs.size() == 1) {
      if (auto done = call.add(cat("--np=", *allocated)); !done) return done;
      continue;
    }
    program.options.emplace_back(list.empty() ? "--np=1" : "--ppn=1");
  }
  if (!call.has("pty"))
    if (auto done = call.add_default("stdin", "all"); !done) return done;
  if (auto done = call.add_default("on-failure", "wait"); !done) return done;
  return call.add_default("exit-status", "max");
}

// pdsh and clush send one text to the login shell of each host, which begins at home. What it
// leaves running stays, and its status is not theirs.
Result<void> add_shell_defaults(PeerCall& call) {
  const std::string name = call.peer == Peer::pdsh ? "pdsh" : "clush";
  if (const std::string* file = call.variable("WCOLL");
      file != nullptr && call.peer == Peer::pdsh && !call.has("hosts")) {
    if (auto done = call.add(cat("--hosts=^", *file)); !done) return done;
  }
  if (!call.has("hosts")) {
    return fail(usage_error(cat("choose the hosts of ", name), "no option names any",
                            cat("write ", name, " -w LIST COMMAND")));
  }
  if (call.has("show-config")) return {};
  if (call.peer == Peer::pdsh) {
    if (auto done = call.add_default("stdin", "none"); !done) return done;
    if (auto done = call.add("--expand"); !done) return done;
  }
  if (auto done = call.add_default("exit-status", "ignore"); !done) return done;
  if (auto done = call.add("--keep"); !done) return done;
  if (auto done = call.add("--wdir=~"); !done) return done;
  std::string text;
  for (const std::string& word : call.program().argv)
    text += cat(text.empty() ? "" : " ", word);
  if (trim(text).empty()) {
    return fail(usage_error(cat("run ", name),
                            "no command is given, and there is no prompt for one",
                            cat("write ", name, " -w LIST COMMAND")));
  }
  // A text that could be a program's name would go to no shell, and one with a dash is an option.
  if (!is_for_shell({text}) || text.front() == '-' || text == ":") text.insert(0, 1, ' ');
  call.program().argv = {std::move(text)};
  return {};
}

}  // namespace

Result<void> add_defaults(PeerCall& call) {
  switch (call.peer) {
    case Peer::hydra:
      return add_hydra_defaults(call);
    case Peer::openmpi:
      return add_openmpi_defaults(call);
    case Peer::srun:
      return add_srun_defaults(call);
    case Peer::pdsh:
    case Peer::clush:
      return add_shell_defaults(call);
    case Peer::dshbak:
    case Peer::pdcp:
      break;
  }
  return {};
}

}  // namespace scela
