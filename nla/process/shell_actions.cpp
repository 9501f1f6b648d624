// How a shell carries out its core's actions.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/core/text.h"
#include "common/crypto/engine_keys.h"
#include "common/crypto/hmac.h"
#include "common/os/memory.h"
#include "common/os/private_dir.h"
#include "common/os/topology.h"
#include "nla/core/tree/remote_shell.h"
#include "nla/guard/guardian.h"
#include "nla/io/address.h"
#include "nla/io/capacity.h"
#include "nla/process/shell_state.h"
#include "nla/ranks/accounts.h"

namespace scela::nla {

namespace {

// Returns the environment that the node's login gave this agent, without the variables of its own
// session.
std::vector<std::string> node_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with("SSH_") && !variable.starts_with("_=")) out.emplace_back(variable);
  }
  return out;
}

}  // namespace

template <class A>
void Shell::State::carry_out(A& action) {
  using std::is_same_v;
  if constexpr (is_same_v<A, action::SignalRanks>) {
    if (ranks) ranks->signal(action.signo);
  } else if constexpr (is_same_v<A, action::Reply>) {
    if (ranks) ranks->reply(action);
  } else if constexpr (is_same_v<A, action::ReadOutput>) {
    if (ranks) {
      ranks->allow_output(action.bytes);
    } else {
      early_credit += action.bytes;
    }
  } else if constexpr (is_same_v<A, action::DropStreams>) {
    if (ranks) ranks->drop_streams();
  } else if constexpr (is_same_v<A, action::WriteStdin>) {
    if (ranks) ranks->write_stdin(action.bytes, action.end);
  } else if constexpr (is_same_v<A, action::RanksFailed>) {
    if (segment) segment->mark_dead(action.ranks);
    if (ranks) ranks->peers_failed(action.ranks);
  } else if constexpr (is_same_v<A, action::NodesLost>) {
    if (ranks) ranks->nodes_lost(action.nodes);
  } else if constexpr (is_same_v<A, action::Reconnected>) {
    if (ranks) ranks->reconnected(action.ranks);
  } else if constexpr (is_same_v<A, action::EndRanks>) {
    if (ranks) ranks->end(action.ranks);
  } else if constexpr (is_same_v<A, action::ResizeTerminal>) {
    if (ranks) ranks->resize(action.size);
  } else if (options.on_action) {
    const Action shown(std::move(action));
    options.on_action(shown);
  }
}

void Shell::State::carry_out(action::Send& send) {
  Link* link = link_of(send.link);
  if (link == nullptr) return;
  if (auto* start = std::get_if<msg::Start>(&send.message)) start->clock_ns = clock_ns();
  if (auto* hello = std::get_if<msg::Hello>(&send.message)) {
    hello->clock_ns = clock_ns();
    if (settings.topology) hello->topology = machine().bytes();
    if (hello->topology.size() > kMaxOwnTopology) hello->topology.clear();
  }
  if (std::holds_alternative<msg::Ready>(send.message)) {
    tracer.span("build tree", started_ns, clock_ns());
  } else if (std::holds_alternative<msg::Launched>(send.message)) {
    tracer.span("start ranks", use_job_ns, clock_ns());
  }
  link->send(encode(send.message));
}

void Shell::State::carry_out(action::StartChild& start) {
  auto child = std::make_unique<ChildAgent>();
  child->link = make_stream_link(buffer, start.link, *this);
  child->link->set_reading(!paused);
  Result<Contact> contact = parse_contact(start.host);
  // If the host list was cut or forged, there is no name and no address, so nothing is started.
  if (contact) child->contact = std::move(*contact);
  child->node = start.node;
  child->end = start.end;
  child->attach = start.attach;
  child->link->send_link_frame(encode(introduction({start.node, start.end})));
  if (may_change(*child) && settings.link == kLinkTcp) child->link->hold();
  child->asked_ns = clock_ns();
  children.push_back(std::move(child));  // links count from 1, in starting order
  // Not now: a start takes a while, and there are other children to start and links to serve.
  boost::asio::post(io, [this, id = start.link] { start_child(id); });
}

void Shell::State::start_child(LinkId id) {
  ChildAgent& child = *children[id - 1];
  if (!spawner) {
    SpawnContext context = options.spawn;
    context.agent = options.agent;
    context.root = options.role == Role::root;
    spawner = make_spawner(io, std::move(context), settings);
  }
  if (child.given_up) {
    child.starting = false;
    child.closed = true;
    child_gone_if(child, id);
    return pump();
  }
  const auto done = [this, id](tl::expected<StartedAgent, SpawnFailure> started) {
    child_started(id, std::move(started));
  };
  // Not now: the spawner is in the middle of a call.
  const auto begun = [this, id] {
    boost::asio::post(io, [this, id] {
      emit(event::ChildBegun{id});
      pump();
    });
  };
  if (!child.attach) return spawner->start(child.contact, begun, done);
  // A host that does not answer must leave its own children the time to be adopted.
  spawner->attach(child.contact, {attach_words(job_id, settings.directory, adopt_ms), adopt_ms / 2},
                  done);
}

void Shell::State::child_started(LinkId id, tl::expected<StartedAgent, SpawnFailure> started) {
  ChildAgent& one = *children[id - 1];
  one.starting = false;
  if (started) {
    one.session = started->pid;
    if (!started->ended) one.pid = started->pid;
    one.link->attach(std::move(started->stream));
    if (!one.contact.here()) watch_child(one);
    if (may_change(one)) plan_change(id);
  } else {
    one.gone = true;
    one.link->give_up();
    emit(event::ChildFailed{id, started.error().phase, std::move(started.error().why),
                            started.error().hand_back});
  }
  pump();
}

// Destroys the old stream later, since it may be in the middle of a call.
void Shell::State::let_parent_go() {
  parent_heart.reset();
  parent_probe.reset();
  if (change_listener) {
    boost::asio::post(
        io, [old = std::make_shared<decltype(change_listener)>(std::move(change_listener))] {});
  }
  adopter_line.reset();
  if (listener)
    boost::asio::post(io, [old = std::shared_ptr<AdoptionListener>(std::move(listener))] {});
  if (!parent) return;
  parent->abandon();
  boost::asio::post(io, [old = std::shared_ptr<Link>(std::move(parent))] {});
}

void Shell::State::carry_out(action::AwaitAdoption& await) {
  let_parent_go();
  if (!await.still) return;
  AdoptionFacts facts{directory, keys.of(node_index), job_id, 0};
  facts.linger_ms = (job ? job->grace_ms : kDefaultGraceMs) + kAgentSlackMs + adopt_ms;
  auto opened = open_adoption_listener(io, std::move(facts), options.guardian_socket,
                                       [this](Adopter adopter) { adopted(std::move(adopter)); });
  // Without a listener no adopter can come, and the core's patience ends by itself.
  if (opened) listener = std::move(*opened);
}

void Shell::State::adopted(Adopter adopter) {
  let_parent_go();
  adopter_line = std::move(adopter.line);
  parent = make_stream_link(buffer, kParentLink, *this);
  parent->attach(adopter.out
                     ? make_pipe_transport(io, std::move(adopter.in), std::move(adopter.out))
                     : make_fd_transport(io, std::move(adopter.in)));
  tell_adopted(options.guardian_socket);
  if (!adopter.remote) return;
  parent_words.root = adopter.root;
  ::setenv("SSH_CONNECTION", adopter.ssh.c_str(), 1);  // to ask for the new parent's machine
  watch_parent();
}

void Shell::State::carry_out(action::CloseLink& close) {
  if (close.link == kParentLink || close.link > children.size()) return;
  ChildAgent& child = *children[close.link - 1];
  child.given_up = true;
  child.heart.reset();
  child.link->give_up();
  if (child.starting && spawner && !child.contact.here()) spawner->cancel(child.contact.name);
  // If an agent does not read its link either, it is left to its guardian, even to one that was
  // stopped. If the guardian is dead, the agent is a child of this process. If the agent was
  // stopped, it reads its link once it is continued.
  if (child.pid == 0) {
    for (const pid_t pid : descendants.orphaned_agents(kept_sessions()))
      ::kill(pid, SIGCONT);
    return;
  }
  ::kill(child.pid, SIGTERM);
  ::kill(child.pid, SIGCONT);
}

void Shell::State::carry_out(action::UseJob& use) {
  job = std::move(use.job);
  if (job->on_failure != OnFailure::wait) adopt_ms = 0;
  use_job_ns = clock_ns();
  tell_grace(options.guardian_socket, job->grace_ms);
  if (adopt_ms == 0 || options.role == Role::root) return;
  tell_adoptable(options.guardian_socket, adopt_ms);
  // If the directory is absent, an adopter knows that no agent is left here.
  if (job->map.ranks_of(node_index).empty()) make_directory();
}

void Shell::State::carry_out(action::AddWorld& add) {
  if (!job || !job->add(std::move(add.world))) return;  // the core has done the same
  if (ranks) ranks->worlds_added();
}

void Shell::State::carry_out(action::StartRanks& start) {
  // Fewer ranks are not worth the look: the start of one too many fails with the same reason.
  if (start.ranks.size() >= kManyRanks) {
    const std::uint64_t with_input = start.ranks.intersection(job->stdin_ranks).size();
    auto refused = too_many(start.ranks.size(), with_input, options.node, system_limits());
    if (refused) {
      return emit(event::RanksRefused{start.ranks, refused->error, refused->text.text()});
    }
  }
  const bool later = ranks != nullptr;
  if (!binding) binding.emplace(machine().share(node_index, settings.shares));
  auto places = binding->place(*job, start.ranks, later);
  if (!places) {
    Error& error = places.error();
    error.where = options.node;
    return emit(event::RanksRefused{start.ranks, EINVAL, error.text()});
  }
  if (job->placement.report) {
    const auto tell = [this](std::string text) {
      emit(event::Say{{LogLevel::info, Subsystem::placement, options.node, std::move(text)}});
    };
    if (!later) tell(cat("the node has ", binding->topology().text()));
    for (std::string& line : binding->report(start.ranks, *places))
      tell(std::move(line));
  }
  if (later) {
    ranks->add(start.ranks);
    ranks->bind(*places);
    return ranks->start(start.ranks);
  }
  NodeFacts facts;
  facts.name = options.node;
  facts.index = node_index;
  const std::string problem = make_directory();
  facts.directory = directory;
  if (settings.node_env) facts.environment = node_environment();
  facts.accounts = settings.measure && problem.empty();
  facts.helper_directory = settings.agent.substr(0, settings.agent.rfind('/') + 1);
  facts.pmi = job->pmi;
  facts.pmi_guessed = settings.pmi_guessed;
  if (job->pmi == PmiKind::pmix) {
    facts.processors = static_cast<std::uint32_t>(allowed_cpus().size()) / settings.shares;
  }
  std::function<void(std::uint64_t)> used;
  if (cache::evicts(job->cache_policy, job->cache_limit))
    used = [this](std::uint64_t hash) { pair_used(hash); };
  RanksHost host{
      io,
      buffer,
      tracer,
      [this] { return clock_ns(); },
      [this](Event event) { emit(std::move(event)); },
      [this] { pump(); },
      [this] { return segment_descriptor(); },
      std::move(used),
      [this](const std::string& path) { tell_directory(options.guardian_socket, path); }};
  ranks = std::make_unique<Ranks>(std::move(host), *job, start.ranks, std::move(facts),
                                  engine_facts(), problem);
  ranks->bind(*places);
  ranks->set_pmi_reading(!paused);
  ranks->allow_output(std::exchange(early_credit, 0));
  ranks->start(start.ranks);
}

// The address is that of the ssh session that has started this agent. On scela-run's machine it is
// the address that scela-run says, elsewhere one that the machine has. Simulated nodes need only
// the loopback.
EngineFacts Shell::State::engine_facts() {
  EngineFacts facts;
  // Without a key the engine says so, and ends.
  if (std::string own = keys.of(node_index); !own.empty()) {
    facts.key = engine_key(own, job_id);
    wipe(own);
  }
  const char* const text = ::getenv("SSH_CONNECTION");
  const auto ssh = options.remote && text != nullptr ? parse_ssh_connection(text) : std::nullopt;
  if (ssh) {
    facts.address = ssh->server;
  } else if (!options.remote) {
    facts.address = settings.address;
  } else if (auto own = address_of_this_machine()) {
    facts.address = std::move(*own);
  }
  if (facts.address.empty()) facts.address = "127.0.0.1";
  // Traffic over a network is encrypted, since others may hear it. Simulated nodes have none. If
  // only one of two engines wants encryption, both encrypt.
  facts.encrypts = options.remote;
  return facts;
}

const Topology& Shell::State::machine() {
  if (!topology) topology = read_topology();
  return *topology;
}

void Shell::State::pair_used(std::uint64_t hash) {
  const std::string_view key = segment ? segment->key_of(hash) : std::string_view();
  if (!key.empty()) emit(event::PairUsed{std::string(key)});
}

// Makes the segment in one attempt. A node without room for it serves all its ranks through their
// sockets.
int Shell::State::segment_descriptor() {
  if (!segment && !segment_refused) {
    auto made = NodeSegment::make(core, job->map_of_world(0).size());
    if (made) {
      segment = std::move(*made);
    } else {
      segment_refused = true;
      emit(event::Say{{LogLevel::warning, Subsystem::cache, options.node, made.error().text()}});
    }
  }
  return segment ? segment->descriptor() : -1;
}

std::string Shell::State::directory_of(std::string_view host) const {
  return node_directory(settings.directory, job_id, host);
}

// Returns an empty string, or why there is no directory.
std::string Shell::State::make_directory() {
  if (!directory.empty()) return {};
  std::string path = directory_of(options.node);
  // The guardian must know before it exists.
  tell_directory(options.guardian_socket, path);
  Result<void> made = make_private_directory(path);
  if (!made) return made.error().text();
  directory = std::move(path);
  directory_hold = hold_directory(directory);
  return {};
}

// Removes this node's own directory, and directories that earlier jobs could not remove here. The
// agent and guardian of such a job were killed at once, or the machine lost its power.
void Shell::State::remove_directories() {
  if (directory.empty()) return;
  static_cast<void>(remove_tree(directory));
  directory_hold.reset();
  const std::size_t slash = directory.rfind('/');
  const std::string name = directory.substr(slash + 1);
  const std::size_t at = name.find(job_id);
  remove_abandoned(directory.substr(0, slash), name.substr(0, at), name.substr(at + job_id.size()),
                   std::chrono::seconds(kAbandonedS));
  for (const char* base : {"/tmp", "/dev/shm", "/var/tmp"})
    remove_abandoned(base, kShippedName, "", std::chrono::seconds(kAbandonedS));
}

void Shell::State::carry_out(action::EndLeftovers& end) {
  if (ranks) ranks->let_servers_go();
  if (end.force) {
    if (ranks) ranks->cancel_starts();
    leftovers = Leftovers::killing;
    return kill_again();
  }
  leftovers = Leftovers::asked;
  check_leftovers();
  if (leftovers == Leftovers::asked) descendants.signal_all(SIGTERM, kept_sessions());
}

// Returns the sessions that stand here for other nodes' agents, ascending. A link needs such a
// session until it has ended, so no process of it is a leftover of this node. It is that of a
// guardian, or of a program such as ssh and all that it runs.
std::vector<pid_t> Shell::State::kept_sessions() const {
  std::vector<pid_t> kept;
  if (spawner) kept = spawner->sessions();
  for (const auto& child : children) {
    if (child->session != 0 && !child->gone) kept.push_back(child->session);
  }
  std::ranges::sort(kept);
  return kept;
}

void Shell::State::check_leftovers() {
  if (descendants.any(kept_sessions())) return;
  leftovers = Leftovers::none;
  if (kill_timer) kill_timer->cancel();
  emit(event::NodeEmpty{});
}

void Shell::State::kill_again() {
  descendants.signal_all(SIGKILL, kept_sessions());
  check_leftovers();
  if (leftovers != Leftovers::killing) return;
  if (!kill_timer) kill_timer.emplace(io);
  kill_timer->set(std::chrono::milliseconds(kKillAgainMs), [this] {
    if (leftovers != Leftovers::killing) return;
    kill_again();
    pump();
  });
}

void Shell::State::carry_out(action::SetTimer& set) {
  std::optional<Alarm>& timer = timers[static_cast<std::size_t>(set.timer)];
  if (!timer) timer.emplace(io);
  timer->set(std::chrono::milliseconds(set.delay_ms), [this, which = set.timer] {
    emit(event::TimerFired{which});
    pump();
  });
}

void Shell::State::carry_out(action::CancelTimer& cancel) {
  std::optional<Alarm>& timer = timers[static_cast<std::size_t>(cancel.timer)];
  if (timer) timer->cancel();
}

void Shell::State::carry_out(action::Finishing&) {
  // This comes while the parent can still receive the error if the record cannot be written.
  if (options.role != Role::root) write_record(true);
  const bool root = options.role == Role::root;
  const RankSet own = root || !job ? RankSet() : job->map.ranks_of(node_index);
  Pieces report;
  if (tracer.enabled())
    tracer.add_lines(report, root ? 0 : node_index + 1, root ? "scela-run" : options.node, own);
  if (settings.measure && !directory.empty()) add_accounts(report, directory, own);
  if (!report.empty()) {
    const std::vector<Chunk> pieces = report.take();
    for (const Chunk& piece : pieces)
      emit(event::SendTrace{&piece == &pieces.back(), piece});
  }
  const MemoryUse use = settings.measure ? memory_use() : quick_memory_use();
  std::uint64_t sent = parent ? parent->sent_bytes() : 0;
  for (const auto& child : children)
    sent += child->link->sent_bytes();
  emit(event::Measured{sent, use.private_bytes, use.resident_bytes});
}

void Shell::State::carry_out(action::Finish&) {
  finished = true;
  // The root has no guardian. It ends the processes that became its children because an agent and
  // its guardian were killed together.
  for (int i = 0; sweeps && i < kRootSweeps && descendants.any(); ++i) {
    descendants.signal_all(SIGKILL);
    pollfd ended{reaper.descriptor(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(kKillAgainMs));
    reap();
  }
  write_record(true);
  remove_directories();
}

void Shell::State::leave_if_done() {
  if (!finished) return;
  if (parent && !parent->finish()) return;
  io.stop();
}

void Shell::State::handle(const Event& event) {
  learn(event);
  actions.clear();
  core.handle(event, actions);
  if (recorder) {
    recorder->add(event, actions);
    write_record(false);
  }
  // An action may cause events but never actions; those come from the core alone.
  for (Action& action : actions) {
    std::visit([&](auto& one) { carry_out(one); }, action);
  }
}

}  // namespace scela::nla
