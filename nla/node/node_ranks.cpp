#include "nla/node/node_ranks.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "common/core/text.h"
#include "common/core/variables/task_variables.h"
#include "common/core/variables/variable_text.h"
#include "common/crypto/engine_keys.h"
#include "common/crypto/hmac.h"
#include "common/os/machine_topology.h"
#include "nla/core/job/meeting_ports.h"
#include "nla/guard/guardian.h"
#include "nla/io/address.h"
#include "nla/io/capacity.h"
#include "nla/io/free_port.h"

namespace scela::nla {

namespace {

// Returns the environment that the node's login or scheduler gave this agent, without the variables
// of its own session or task.
std::vector<std::string> node_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (variable.starts_with("SSH_") || variable.starts_with("_=")) continue;
    if (!is_of_task(variable_name(variable))) out.emplace_back(variable);
  }
  return out;
}

}  // namespace

void NodeRanks::carry_out(action::StartRanks& start) {
  if (refuse_too_many(start.ranks)) return;
  const bool later = ranks_ != nullptr;
  const auto refuse = [&](Error error) {
    // Reports name the host of a rank themselves. A rank that spawns others learns it from this.
    const bool is_first = start.ranks.empty() || context_.job->world_of(start.ranks.front()) == 0;
    if (!is_first) error.where = context_.node;
    context_.emit(event::RanksRefused{start.ranks, EINVAL, error.text()});
  };
  if (!context_.settings.network.empty())
    if (const auto own = address_for_others(); !own) return refuse(own.error());
  auto places = find_places(start.ranks, later);
  if (!places) return refuse(std::move(places.error()));
  const auto memory = memory_of(start.ranks, *places);
  if (!memory) return refuse(memory.error());
  if (context_.job->placement.report) report(start.ranks, *places, *memory);
  if (later) {
    ranks_->add(start.ranks);
    ranks_->bind(*places, *memory);
    return ranks_->start(start.ranks);
  }
  make_ranks(start.ranks);
  ranks_->bind(*places, *memory);
  ranks_->set_pmi_reading(!context_.paused);
  ranks_->allow_output(std::exchange(early_credit_, 0));
  ranks_->start(start.ranks);
}

// The topology takes some 20 files to read, which a job that binds no ranks does not need.
Result<Binding::Places> NodeRanks::find_places(const RankSet& ranks, bool later) {
  const Job& job = *context_.job;
  const PlacementPolicy& policy = job.placement;
  if (policy.bind_to == BindTo::none && policy.memory == MemoryBinding::none &&
      job.chosen_cores.empty() && !policy.report)
    return Binding::Places();
  if (!binding_) binding_.emplace(machine().share(context_.node_index, context_.settings.shares));
  return binding_->place(job, ranks, later);
}

// Fewer ranks are not worth the look: the start of one too many fails with the same reason.
bool NodeRanks::refuse_too_many(const RankSet& ranks) {
  if (ranks.size() < kManyRanks) return false;
  const std::uint64_t with_input = ranks.intersection(context_.job->stdin_ranks).size();
  auto refused = too_many(ranks.size(), with_input, context_.node, system_limits());
  if (!refused) return false;
  context_.emit(event::RanksRefused{ranks, refused->error, refused->text.text()});
  return true;
}

Result<Binding::Memory> NodeRanks::memory_of(const RankSet& ranks, const Binding::Places& places) {
  if (context_.job->placement.memory == MemoryBinding::none) return Binding::Memory();
  return binding_->memory(*context_.job, ranks, places, read_memory_domains());
}

void NodeRanks::report(const RankSet& ranks, const Binding::Places& places,
                       const Binding::Memory& memory) {
  const auto log = [this](std::string text) {
    context_.log(LogLevel::info, Subsystem::placement, std::move(text));
  };
  if (!ranks_) log(cat("the node has ", binding_->topology().text()));
  for (std::string& line : binding_->report(ranks, places))
    log(std::move(line));
  for (const auto& [rank, domains] : memory)
    log(cat("rank ", rank, " has memory of NUMA domains ", domains.text(), " (",
            name_of(context_.job->placement.memory), ")"));
}

void NodeRanks::make_ranks(const RankSet& first) {
  const std::string problem = directory_.make();
  NodeFacts facts = node_facts();
  facts.counters = context_.settings.measure && problem.empty();
  std::function<void(std::uint64_t)> used;
  if (cache::evicts(context_.job->cache_policy, context_.job->cache_limit))
    used = [this](std::uint64_t hash) { pair_used(hash); };
  RanksHost host{
      context_.io,
      context_.buffer,
      context_.tracer,
      [this] { return context_.clock_ns(); },
      [this](Event event) { context_.emit(std::move(event)); },
      context_.pump,
      [this] { return segment_descriptor(); },
      std::move(used),
      [this](const std::string& path) { tell_directory(context_.guardian_socket, path); }};
  ranks_ = std::make_unique<Ranks>(std::move(host), *context_.job, first, std::move(facts),
                                   engine_facts(), problem);
}

NodeFacts NodeRanks::node_facts() const {
  const Settings& settings = context_.settings;
  NodeFacts facts;
  facts.name = context_.node;
  facts.index = context_.node_index;
  facts.directory = directory_.path();
  if (settings.node_env) facts.environment = node_environment();
  facts.helper_directory = settings.agent.substr(0, settings.agent.rfind('/') + 1);
  facts.gpus = {context_.node_index, settings.shares};
  facts.pmi = context_.job->pmi;
  facts.pmi_guessed = settings.pmi_guessed;
  if (context_.job->pmi == PmiKind::pmix) {
    facts.processors = static_cast<std::uint32_t>(allowed_cpus().size()) / settings.shares;
  }
  return facts;
}

// Without a choice of the user's, the address is that of the ssh session that has started this
// agent. On scela-run's machine it is the address that scela-run says, elsewhere one that the
// machine has. Simulated nodes need only the loopback.
Result<std::string> NodeRanks::address_for_others() const {
  if (!context_.settings.network.empty()) return address_in_network(context_.settings.network);
  std::string address;
  const auto ssh = context_.remote ? own_ssh_connection() : std::nullopt;
  if (ssh) {
    address = ssh->server;
  } else if (!context_.remote) {
    address = context_.settings.address;
  } else if (auto own = address_of_this_machine()) {
    address = std::move(*own);
  }
  return address.empty() ? std::string("127.0.0.1") : address;
}

std::string NodeRanks::rendezvous() const {
  const auto address = address_for_others();
  if (!address) return address.error().text();
  const std::uint16_t port = free_port(context_.job_id);
  return port == 0 ? std::string() : format(Rendezvous{*address, port});
}

EngineFacts NodeRanks::engine_facts() const {
  EngineFacts facts;
  // Without a key the engine says so, and ends.
  if (std::string own = keys_.keys().of(context_.node_index); !own.empty()) {
    facts.key = engine_key(own, context_.job_id);
    wipe(own);
  }
  facts.address = address_for_others().value_or("");
  // Traffic over a network is encrypted, since others may hear it. Simulated nodes have none. If
  // only one of two engines wants encryption, both encrypt.
  facts.encrypts = context_.remote;
  return facts;
}

void NodeRanks::add_usage(Pieces& report) const {
  if (!ranks_) return;
  for (const RankUsage& usage : ranks_->usages())
    report.add(usage_line(usage));
}

const Topology& NodeRanks::machine() {
  if (!topology_) topology_ = read_topology();
  return *topology_;
}

void NodeRanks::pair_used(std::uint64_t hash) {
  const std::string_view key = segment_ ? segment_->key_of(hash) : std::string_view();
  if (!key.empty()) context_.emit(event::PairUsed{std::string(key)});
}

// Makes the segment in one attempt. A node without room for it serves all its ranks through their
// sockets.
int NodeRanks::segment_descriptor() {
  if (!segment_ && !segment_refused_) {
    auto made = NodeSegment::make(core_, context_.job->map_of_world(0).size());
    if (made) {
      segment_ = std::move(*made);
    } else {
      segment_refused_ = true;
      context_.log(LogLevel::warning, Subsystem::cache, made.error().text());
    }
  }
  return segment_ ? segment_->descriptor() : -1;
}

void NodeRanks::follow_pause() {
  if (ranks_) ranks_->set_pmi_reading(!context_.paused);
}

void NodeRanks::let_servers_go(bool force) {
  if (!ranks_) return;
  ranks_->let_servers_go();
  if (force) ranks_->cancel_starts();
}

void NodeRanks::carry_out(action::AddWorld& add) {
  // The core has done the same.
  if (!context_.job || !context_.job->add(std::move(add.world))) return;
  if (ranks_) ranks_->worlds_added();
}

void NodeRanks::carry_out(action::SignalRanks& action) {
  if (ranks_ && ranks_->signal(action.signo)) context_.ended_ranks = true;
}

void NodeRanks::carry_out(action::InspectRanks& action) {
  if (ranks_) {
    ranks_->inspect(action);
  } else {
    context_.emit(event::Inspected{true, {}});
  }
}

void NodeRanks::carry_out(action::EndRanks& action) {
  if (ranks_ && ranks_->end(action.ranks)) context_.ended_ranks = true;
}

void NodeRanks::carry_out(action::Reply& action) {
  if (ranks_) ranks_->reply(action);
}

void NodeRanks::carry_out(action::ReadOutput& action) {
  if (ranks_) {
    ranks_->allow_output(action.bytes);
  } else {
    early_credit_ += action.bytes;
  }
}

void NodeRanks::carry_out(action::DropStreams& /*action*/) {
  if (ranks_) ranks_->drop_streams();
}

void NodeRanks::carry_out(action::WriteStdin& action) {
  if (ranks_) ranks_->write_stdin(action.bytes, action.end);
}

void NodeRanks::carry_out(action::ResizeTerminal& action) {
  if (ranks_) ranks_->resize(action.size);
}

void NodeRanks::carry_out(action::RanksFailed& action) {
  if (segment_) segment_->mark_dead(action.ranks);
  if (ranks_) ranks_->peers_failed(action.ranks);
}

void NodeRanks::carry_out(action::NodesLost& action) {
  if (ranks_) ranks_->nodes_lost(action.nodes);
}

void NodeRanks::carry_out(action::Reconnected& action) {
  if (ranks_) ranks_->reconnected(action.ranks);
}

}  // namespace scela::nla
