#include <algorithm>

#include "common/core/text.h"
#include "nla/core/agent/agent_state.h"

namespace scela::nla {

namespace {

// A node may send this many bytes of trace: several times what kMaxSpans (nla/io/constants.h) take.
// If it were smaller, the agent of a node with very many ranks would be taken for hostile. If it
// were larger, a hostile agent could keep the job from its end for longer.
constexpr std::uint64_t kMaxReport = std::uint64_t{64} * 1024 * 1024;

// A subtree may send this many bytes of log records in all, for each of its nodes. An honest node
// says some lines in a job, and with --verbose some for each rank. If it were larger, a node that
// was taken over could take more of the user's terminal. It could also take more of the launcher's
// memory if the terminal stalls.
constexpr std::uint64_t kMaxLogOfNode = std::uint64_t{64} * 1024;
// A subtree may send this many more bytes for each of its ranks: --report-bindings has a line for
// each.
constexpr std::uint64_t kMaxLogOfRank = 1024;
constexpr std::size_t kMaxLogText = 4096;
constexpr std::size_t kLogCost = 64;  // bytes of a record beside its text

// A subtree may send this many bytes of Outcome::why for each of its nodes. Later outcomes lose
// that text. If it were larger, a compromised node with many spawned ranks could take more memory.
constexpr std::uint64_t kMaxWhyOfNode = std::uint64_t{1024} * 1024;

Outcome with_bounded_why(Child& child, const Outcome& said) {
  Outcome outcome = with_short_why(said);
  child.why_bytes += outcome.why.size();
  if (child.why_bytes > kMaxWhyOfNode * child.slice.size()) outcome.why.clear();
  return outcome;
}

}  // namespace

bool Agent::State::from_parent(const Message& message) {
  const bool knows_itself = phase != Phase::waiting;
  if (context.orphaned && !std::holds_alternative<msg::Adopt>(message)) return false;
  return std::visit(
      [&](const auto& one) {
        using M = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<M, msg::Start> || std::is_same_v<M, msg::SliceHosts> ||
                      std::is_same_v<M, msg::JobBytes> || std::is_same_v<M, msg::Adopt> ||
                      std::is_same_v<M, msg::WorldBytes> || std::is_same_v<M, msg::EndRanks>) {
          return down(one);
        } else if constexpr (std::is_same_v<M, msg::Signal>) {
          children.broadcast(one);
          context.act(action::SignalRanks{one.signo});
          return knows_itself;
        } else if constexpr (std::is_same_v<M, msg::Terminate>) {
          terminate(one.signo, one.grace_ms);
          return knows_itself;
        } else if constexpr (std::is_same_v<M, msg::Shutdown>) {
          shut_down();
          return knows_itself;
        } else if constexpr (std::is_same_v<M, msg::CollectiveDown>) {
          return down(one);
        } else if constexpr (std::is_same_v<M, msg::Answer>) {
          return policy && bulletin.receive(kParentLink, one);
        } else if constexpr (std::is_same_v<M, msg::Get>) {
          return policy && bulletin.receive(one);
        } else if constexpr (std::is_same_v<M, msg::Pairs>) {
          return policy && bulletin.receive(one);
        } else if constexpr (std::is_same_v<M, msg::Stdin>) {
          input.receive(one);
          return context.job.has_value();
        } else if constexpr (std::is_same_v<M, msg::Credit>) {
          output.credit(one.bytes, one.past);
          return knows_itself;
        } else if constexpr (std::is_same_v<M, msg::RoutedMessage>) {
          // An adopter may take ranks to be below that are not. A routed message for those goes
          // back up.
          return (context.adopted || context.subtree_ranks.contains(one.destination)) &&
                 mailbox.receive(one);
        } else if constexpr (std::is_same_v<M, msg::PeersFailed>) {
          children.broadcast(one);
          mailbox.peers_failed(one.ranks);
          if (!context.own_ranks.empty()) context.act(action::RanksFailed{one.ranks});
          bulletin.fail_waiting(cat("rank ", one.ranks.text(), " failed"));
          attributes.peers_failed(one.ranks);
          return true;
        } else if constexpr (std::is_same_v<M, msg::NameAnswer>) {
          return name_table.receive(one);
        } else if constexpr (std::is_same_v<M, msg::SpawnAnswer>) {
          return spawns.receive(one);
        } else if constexpr (std::is_same_v<M, msg::CutOff>) {
          cut_off(one.ranks, one.now);
          return knows_itself;
        } else if constexpr (std::is_same_v<M, msg::NodesLost>) {
          nodes_lost(one.nodes);
          return context.job || shutdown;
        } else if constexpr (std::is_same_v<M, msg::Resize>) {
          return context.job ? resize(one.size) : shutdown;
        } else {
          return false;
        }
      },
      message);
}

bool Agent::State::from_child(Child& child, const Message& message) {
  if (child.state == ChildState::starting && !std::holds_alternative<msg::Hello>(message)) {
    return false;
  }
  if (child.state == ChildState::adopting && !std::holds_alternative<msg::Orphan>(message)) {
    return false;
  }
  return std::visit(
      [&](const auto& one) {
        using M = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<M, msg::Hello> || std::is_same_v<M, msg::Ready> ||
                      std::is_same_v<M, msg::Verdicts> || std::is_same_v<M, msg::Report> ||
                      std::is_same_v<M, msg::Done> || std::is_same_v<M, msg::ProcessFail> ||
                      std::is_same_v<M, msg::Orphan> || std::is_same_v<M, msg::CutOff> ||
                      std::is_same_v<M, msg::NodesLost> || std::is_same_v<M, msg::Log>) {
          return up(child, one);
        } else if constexpr (std::is_same_v<M, msg::NodeFailed>) {
          if (!child.covers(one.node)) return false;
          report_node_failure(context, one);
          return true;
        } else if constexpr (std::is_same_v<M, msg::HandBack>) {
          return children.receive(child, one);
        } else if constexpr (std::is_same_v<M, msg::Below>) {
          return children.receive(child, one);
        } else if constexpr (std::is_same_v<M, msg::Launched>) {
          // An adopted agent may say again what its lost parent has passed on.
          if (!std::exchange(child.launched, true)) below_launched += one.ranks;
          return true;
        } else if constexpr (std::is_same_v<M, msg::CollectiveUp>) {
          return collectives.receive_up(child, one);
        } else if constexpr (std::is_same_v<M, msg::Get>) {
          return policy && bulletin.receive(child, one);
        } else if constexpr (std::is_same_v<M, msg::Answer>) {
          return policy && bulletin.receive(child.link, one);
        } else if constexpr (std::is_same_v<M, msg::Put>) {
          if (!policy) return false;
          bulletin.receive(one);
          return true;
        } else if constexpr (std::is_same_v<M, msg::Output>) {
          return child.ranks.contains(one.rank) && output.receive(child, one, child.window);
        } else if constexpr (std::is_same_v<M, msg::StdinTaken>) {
          input.receive(child.link, one);
          return true;
        } else if constexpr (std::is_same_v<M, msg::RoutedMessage>) {
          return child.ranks.contains(one.source) && mailbox.receive(one);
        } else if constexpr (std::is_same_v<M, msg::NameAsked>) {
          return name_table.receive(child, one);
        } else if constexpr (std::is_same_v<M, msg::SpawnAsked> ||
                             std::is_same_v<M, msg::WorldLaunched>) {
          return context.job && spawns.receive(child, one);
        } else {
          return false;
        }
      },
      message);
}

bool Agent::State::down(const msg::Start& message) {
  if (context.is_root() || phase != Phase::waiting || context.nodes != 0) return false;
  if (message.version != kProtocolVersion || message.slice.first >= message.slice.end ||
      message.slice.end > message.nodes || message.degree == 0) {
    return false;
  }
  context.job_id = message.job_id;
  context.slice = message.slice;
  context.node = message.slice.first;
  context.nodes = message.nodes;
  context.degree = message.degree;
  context.grace_ms = message.grace_ms;
  context.settings = message.settings;
  context.parent = message.parent;
  context.adopt_ms = message.adopt_ms;
  output.open(message.output_window);
  context.send_up(msg::Hello{kProtocolVersion, context.node, message.clock_ns, 0});
  return true;
}

bool Agent::State::down(const msg::SliceHosts& message) {
  if (phase != Phase::waiting || context.nodes == 0) return false;
  names += message.names.view();
  if (!message.last) return true;
  std::size_t at = 0;
  while (at < names.size()) {
    const std::size_t end = names.find('\n', at);
    if (end == std::string::npos) return false;
    context.hosts.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  names.clear();
  names.shrink_to_fit();
  // If there are fewer hosts than nodes, the parent has started the last ones itself.
  if (context.hosts.empty() || context.hosts.size() > context.slice.size()) return false;
  context.slice.end = context.slice.first + static_cast<std::uint32_t>(context.hosts.size());
  phase = Phase::starting;
  children.start({context.slice.first + 1, context.slice.end});
  return true;
}

bool Agent::State::down(const msg::JobBytes& message) {
  if (context.job || phase != Phase::ready) return shutdown;  // a job that is ended before it began
  children.broadcast(message);
  job_bytes += message.bytes.view();
  if (!message.last) return true;
  Result<Job> job = decode_job(job_bytes);
  job_bytes.clear();
  job_bytes.shrink_to_fit();
  if (!job) return false;
  use_job(std::move(*job));
  return true;
}

bool Agent::State::down(const msg::CollectiveDown& message) {
  if (!context.job || !message.id.set.intersects(context.subtree_ranks)) return false;
  return collectives.receive_down(message);
}

// A subtree that says too much is cut short, and its link goes on.
bool Agent::State::up(Child& child, const msg::Log& message) {
  if (!child.covers(message.node)) return false;
  const std::uint64_t most =
      kMaxLogOfNode * child.slice.size() + kMaxLogOfRank * child.ranks.size();
  if (child.log_bytes > most) return true;
  msg::Log passed = message;
  if (passed.record.text.size() > kMaxLogText) passed.record.text.resize(kMaxLogText);
  child.log_bytes += kLogCost + passed.record.text.size();
  if (child.log_bytes > most) {
    passed.node = child.slice.first;
    passed.record = {LogLevel::warning,
                     Subsystem::tree,
                     {},
                     "it has said too much: nothing that it says from now on is shown"};
  }
  tell(std::move(passed));
  return true;
}

bool Agent::State::up(Child& child, const msg::Hello& message) {
  if (child.state != ChildState::starting || message.node != child.slice.first) return false;
  if (message.version == kProtocolVersion && !message.topology.empty() &&
      !are_topologies({{message.topology, RankSet::single(message.node)}}, context.settings)) {
    return false;
  }
  if (message.version != kProtocolVersion) {
    const LinkId link = child.link;
    children.failed(
        child, StartPhase::hello,
        cat("it speaks protocol version ", message.version, ", this side ", kProtocolVersion));
    context.act(action::CloseLink{link});
    return true;
  }
  topologies.hello(child.link, message.node, message.topology);
  children.said_hello(child);
  return true;
}

bool Agent::State::up(Child& child, const msg::Ready& message) {
  if (child.state != ChildState::up || message.agents == 0 || message.agents > child.slice.size()) {
    return false;
  }
  if (!are_topologies(message.topologies, context.settings)) return false;
  for (const auto& [topology, nodes] : message.topologies) {
    if (nodes.front() <= child.slice.first || nodes.ranges().back().last >= child.slice.end ||
        nodes.intersects(child.handed_back)) {
      return false;
    }
  }
  topologies.add(child.link, message.topologies);
  child.state = ChildState::ready;
  child.agents = message.agents;
  bring_up_to_date(child);
  return true;
}

bool Agent::State::up(Child& child, const msg::ProcessFail& message) {
  if (!child.ranks.contains(message.rank)) return false;
  // An adopted agent says again what its lost parent may have kept to itself.
  const Outcome outcome = with_bounded_why(child, message.outcome);
  const bool fresh = reported.emplace(message.rank, outcome).second;
  if (fresh || outcome.ends_job()) process_fail(message.rank, outcome);
  return true;
}

bool Agent::State::up(Child& child, const msg::Verdicts& message) {
  if (!context.job) return false;
  for (const auto& [outcome, ranks] : message.groups) {
    if (!child.ranks.contains_all(ranks)) return false;
    verdicts.record(ranks, with_bounded_why(child, outcome));
  }
  if (!verdicts.open(child.ranks).empty()) {
    child.some_ended = true;
    collectives.child_has_ended_ranks();
    return true;
  }
  child.ended_ranks = true;
  collectives.child_ended(child);
  input.child_ended();
  return true;
}

// Reports come only at the end, only if the job is traced, and once from each node. If there is no
// job, only the shells know if it is traced.
bool Agent::State::up(Child& child, const msg::Report& message) {
  if (!shutdown || (context.job && !context.job->trace)) return false;
  if (!child.slice.contains(message.node) || traced_nodes.contains(message.node)) return false;
  if (message.bytes.empty() && !message.last) return false;
  child.report_bytes += message.bytes.size();
  if (child.report_bytes > kMaxReport * child.slice.size()) return false;
  if (message.last) traced_nodes.add(message.node);
  if (context.is_root()) {
    context.act(action::TracePiece{message.node, message.last, message.bytes});
  } else {
    context.send_up(message);
  }
  return true;
}

bool Agent::State::up(Child& child, const msg::Done& message) {
  if (!shutdown) return false;
  if (const RankSet open = verdicts.open(child.ranks); !open.empty()) {
    // A child that was adopted while the job ended has ended before it heard of the last worlds.
    if (!child.adopted) return false;
    verdicts.record(open, {Ending::cancelled, 0, false, true, {}});
  }
  child.state = ChildState::done;
  output.child_ended(child.link);
  below.agents += message.stats.agents;
  below.messages += message.stats.messages;
  below.bytes += message.stats.bytes;
  below.output_bytes += message.stats.output_bytes;
  below.max_private_bytes = std::max(below.max_private_bytes, message.stats.max_private_bytes);
  below.max_resident_bytes = std::max(below.max_resident_bytes, message.stats.max_resident_bytes);
  below.cache_bytes = std::max(below.cache_bytes, message.stats.cache_bytes);
  return true;
}

}  // namespace scela::nla
