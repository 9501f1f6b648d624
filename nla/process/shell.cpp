#include "nla/process/shell.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/memory.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "nla/guard/guardian.h"
#include "nla/process/shell_state.h"
#include "nla/ranks/rank_counter_files.h"

namespace scela::nla {

namespace {

std::string boot_id() {
  return read_small_file("/proc/sys/kernel/random/boot_id").substr(0, 36);
}

SpawnContext spawn_context(ShellOptions& options) {
  SpawnContext context = std::move(options.spawn);
  context.agent = options.agent;
  context.root = options.role == Role::root;
  return context;
}

// Returns an error if this process may not open the descriptors of an event loop. Asio would throw
// an exception, which the small agent cannot catch (nla/pack/no_unwinding.ld).
Result<void> check_event_loop_room() {
  // As many as boost::asio::io_context opens: epoll, its wake-up and its timer.
  constexpr int kDescriptors = 3;
  Fd opened[kDescriptors];
  for (Fd& one : opened) {
    one = Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!one) {
      return fail(os_error(ErrorKind::internal, "set the event loop up", errno,
                           "see whether the limit of open files (ulimit -n) is too low"));
    }
  }
  return {};
}

// Has the first of the parts that knows actions of this kind carry it out. Returns false if none
// does.
template <class A, class First, class... Rest>
bool pass_action(A& action, First& first, Rest&... rest) {
  if constexpr (requires { first.carry_out(action); }) {
    first.carry_out(action);
    return true;
  } else if constexpr (sizeof...(rest) > 0) {
    return pass_action(action, rest...);
  } else {
    return false;
  }
}

}  // namespace

// Beginning.

Shell::State::State(ShellOptions wanted, Reaper made)
    : options(std::move(wanted)),
      context(options.role, options.node, options.remote, std::move(options.guardian_socket)),
      core(options.role),
      reaper(std::move(made)),
      reaper_watch(context.io, reaper.descriptor()),
      record(context),
      guardian(context),
      timers(context),
      keys(context),
      descendants([this](pid_t pid) { return keys.marks().is_agent(pid); }),
      directory(context),
      parent(context, *this, keys),
      children(context, *this, keys, descendants, spawn_context(options),
               [this](LinkId id) { child_started(id); }),
      health(context, keys, children, parent),
      upgrade(context, keys, children),
      leftovers(context, descendants, children),
      ranks(context, keys, directory, core) {
  context.network = options.spawn.network;
  context.pump = [this] { pump(); };
}

void Shell::State::begin() {
  // Children that a shell left to the program it executed must not be ended by scela-run.
  std::vector<pid_t> others = children_of(::getpid());
  std::erase_if(others, [&](pid_t child) {
    return std::ranges::find(options.own_children, child) != options.own_children.end();
  });
  sweeps = context.is_root() && others.empty();
  become_subreaper();
  ::signal(SIGPIPE, SIG_IGN);
  watch_reaper();
  if (context.is_root()) return;
  if (options.dialed) {
    parent.await(std::move(*options.dialed), options.build, options.node,
                 [this] { health.watch_parent(); });
  } else {
    parent.open(std::move(options.parent), std::move(options.parent_out));
    if (context.remote) health.watch_parent();
  }
  guardian.start();
}

void Shell::State::watch_reaper() {
  reaper_watch.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [this](const boost::system::error_code& error) {
                            if (error) return;
                            reap();
                            watch_reaper();
                            pump();
                          });
}

void Shell::State::reap() {
  reaper.clear();
  reaper.reap(
      [&](pid_t pid, int status, const rusage& usage) {
        if (!ranks.reaped(pid, status, usage)) children.reaped(pid, status);
      },
      [&](pid_t pid) { children.stopped(pid); });
  leftovers.child_ended();
}

// Links.

void Shell::State::on_frame(LinkId link, Frame frame) {
  Result<Message> message = decode(std::move(frame));
  if (message) {
    return context.emit(event::Received{link, std::move(*message), context.clock_ns()});
  }
  if (Link* broken = link_of(link)) broken->give_up();
  on_ended(link, message.error().text());
}

void Shell::State::on_ended(LinkId link, std::string why) {
  if (link != kParentLink) {
    children.link_ended(link, std::move(why));
  } else if (!finished) {
    context.emit(event::LinkEnded{link, std::move(why)});
  }
}

void Shell::State::on_closed(LinkId link) {
  if (link != kParentLink) children.link_closed(link);
}

void Shell::State::on_link_frame(LinkId link, Frame frame) {
  const auto kind = static_cast<LinkFrame>(frame.kind);
  if (link == kParentLink) {
    if (kind == LinkFrame::introduce) {
      introduced(decode_introduction(frame));
    } else if (kind == LinkFrame::ask) {
      parent.offer_port(frame.payload);
    }
  } else if (kind == LinkFrame::change) {
    upgrade.changed(link);
  } else if (kind == LinkFrame::offer) {
    if (const Result<Offer> offer = decode_offer(frame)) upgrade.connect(link, *offer);
  } else if (kind != LinkFrame::beat && !children.at(link).given_up) {
    // Not now: the link is in the middle of a call.
    boost::asio::post(context.io, [this, link] {
      children.lose(link, "protocol error: a frame that only a parent sends");
      pump();
    });
  }
}

void Shell::State::introduced(Result<Introduction> introduction) {
  // An adopter has proved the key of this node before.
  if (introduction && keys.known()) return keys.set_parent_is_root(introduction->root);
  // Not now: the link is in the middle of a call.
  if (!keys.accept(std::move(introduction))) {
    return boost::asio::post(context.io, [this] {
      if (parent.link() != nullptr) parent.lose(health.silence());
      pump();
    });
  }
  show_mark(options.mark_room, keys.marks().mark_of(::getpid()));
  tell_marks(context.guardian_socket, keys.marks());
}

void Shell::State::child_started(LinkId id) {
  ChildAgent& child = children.at(id);
  if (!child.contact.here()) health.watch_child(child);
  if (child.may_change_link(context.settings)) upgrade.plan(id);
}

void Shell::State::carry_out(action::AwaitAdoption& await) {
  health.unwatch_parent();
  parent.close();
  if (!await.still) return;
  parent.await_adopter(
      directory.path(), [this](Adopter adopter) { adopted(std::move(adopter)); },
      [this] { health.watch_parent(); });
}

void Shell::State::adopted(Adopter adopter) {
  health.unwatch_parent();
  if (parent.adopt(std::move(adopter))) health.watch_parent();
}

// Messages that cannot be passed on must not be taken in. Reading from the children waits for both
// directions, reading from the parent only for the children. So some link always moves: the root
// has no parent, a leaf no children.
void Shell::State::apply_back_pressure() {
  Link* const up = parent.link();
  const bool down_full = children.full();
  const bool full = down_full || (up != nullptr && up->queued_bytes() > kHighWater);
  if (up != nullptr) up->set_reading(!down_full);
  if (full == std::exchange(context.paused, full)) return;
  children.follow_pause();
  ranks.follow_pause();
}

// The pump: events to the core, actions out, until neither causes another.

void Shell::State::pump() {
  if (std::exchange(pumping, true)) return;
  while (!context.events.empty()) {
    const Event event = std::move(context.events.front());
    context.events.pop_front();
    handle(event);
  }
  upgrade.request_busy();
  if (Link* up = parent.link()) up->flush();
  children.flush();
  apply_back_pressure();
  leave_if_done();
  pumping = false;
}

void Shell::State::handle(const Event& event) {
  learn(event);
  actions.clear();
  core.handle(event, actions);
  record.add(event, actions);
  // An action may cause events but never actions; those come from the core alone.
  for (Action& action : actions) {
    std::visit(
        [&](auto& one) {
          if (pass_action(one, *this, ranks, children, timers) || !options.on_action) return;
          const Action shown(std::move(one));
          options.on_action(shown);
        },
        action);
  }
}

void Shell::State::learn(const Event& event) {
  if (const auto* begin = std::get_if<event::Begin>(&event)) return learn(*begin);
  if (const auto* launch = std::get_if<event::Launch>(&event)) sweeps = sweeps && !launch->job.keep;
  const auto* received = std::get_if<event::Received>(&event);
  if (received == nullptr) return;
  if (received->link == kParentLink) {
    if (const auto* end = std::get_if<msg::Terminate>(&received->message)) {
      tell_grace(context.guardian_socket, end->grace_ms);
      context.told_to_end = true;
    } else if (std::holds_alternative<msg::Shutdown>(received->message)) {
      context.told_to_end = true;
    } else if (const auto* start = std::get_if<msg::Start>(&received->message)) {
      if (context.started_ns == 0) learn(*start);
    }
  } else if (std::holds_alternative<msg::Hello>(received->message) &&
             received->link <= children.size()) {
    context.tracer.span("start agent", children.at(received->link).asked_ns, context.clock_ns());
  }
}

void Shell::State::learn(const event::Begin& event) {
  context.job_id = event.job_id;
  context.adopt_ms = event.adopt_ms;
  context.degree = event.degree;
  use_settings(event.settings);
}

void Shell::State::learn(const msg::Start& start) {
  context.job_id = start.job_id;
  context.node_index = start.slice.first;
  context.degree = start.degree;
  context.adopt_ms = start.adopt_ms;
  tell_grace(context.guardian_socket, start.grace_ms);
  use_settings(start.settings);
  if (!options.removed.empty()) {
    context.log(LogLevel::warning, Subsystem::launch,
                cat("the agent in the cache, ", options.removed,
                    ", had other bytes than it was sent with; it was replaced"));
  }
  // On the root's own machine the clocks are one. Elsewhere the time of the message's way is the
  // error.
  const Settings& settings = context.settings;
  if (context.tracer.enabled() && (settings.boot_id.empty() || settings.boot_id != boot_id())) {
    context.clock_offset = start.clock_ns - monotonic_ns();
  }
  context.started_ns = context.clock_ns();
}

void Shell::State::use_settings(const std::string& text) {
  Result<Settings> parsed = parse_settings(text);
  if (!parsed) return context.log(LogLevel::error, Subsystem::launch, parsed.error().text());
  context.settings = std::move(*parsed);
  health.settings_changed();
  if (context.settings.trace) context.tracer.enable();
  if (context.is_root() || context.settings.record.empty()) return;
  record.start(cat(context.settings.record, ".", context.node_index));
}

// Actions.

void Shell::State::carry_out(action::Send& send) {
  Link* link = link_of(send.link);
  if (link == nullptr) return;
  if (auto* start = std::get_if<msg::Start>(&send.message)) start->clock_ns = context.clock_ns();
  if (auto* hello = std::get_if<msg::Hello>(&send.message)) {
    hello->clock_ns = context.clock_ns();
    if (context.settings.topology) hello->topology = ranks.machine().bytes();
    if (hello->topology.size() > kMaxOwnTopology) hello->topology.clear();
    const auto first = context.settings.rendezvous;
    const std::uint32_t node = context.node_index;
    if (first && node >= *first && node - *first < kRendezvousNodes)
      hello->rendezvous = ranks.rendezvous();
    if (hello->rendezvous.size() > kMaxRendezvous) hello->rendezvous.resize(kMaxRendezvous);
  }
  if (std::holds_alternative<msg::Ready>(send.message)) {
    context.tracer.span("build tree", context.started_ns, context.clock_ns());
  } else if (std::holds_alternative<msg::Launched>(send.message)) {
    context.tracer.span("start ranks", context.use_job_ns, context.clock_ns());
  }
  link->send(encode(send.message));
}

void Shell::State::carry_out(action::UseJob& use) {
  context.job = std::move(use.job);
  if (context.job->on_failure != OnFailure::wait) context.adopt_ms = 0;
  context.use_job_ns = context.clock_ns();
  tell_grace(context.guardian_socket, context.job->grace_ms);
  if (context.adopt_ms == 0 || context.is_root()) return;
  tell_adoptable(context.guardian_socket, context.adopt_ms);
  // If the directory is absent, an adopter knows that no agent is left here.
  if (context.job->map.ranks_of(context.node_index).empty()) directory.make();
}

void Shell::State::carry_out(action::KillAgent&) {
  ::kill(::getpid(), SIGKILL);
}

void Shell::State::carry_out(action::EndLeftovers& end) {
  ranks.let_servers_go(end.force);
  leftovers.end(end.force);
}

void Shell::State::carry_out(action::Finishing&) {
  const bool root = context.is_root();
  // This comes while the parent can still receive the error if the record cannot be written.
  if (!root) record.finish();
  const RankSet own =
      root || !context.job ? RankSet() : context.job->map.ranks_of(context.node_index);
  const bool measure = context.settings.measure;
  Pieces report;
  if (context.tracer.enabled()) {
    context.tracer.add_lines(report, root ? 0 : context.node_index + 1,
                             root ? "scela-run" : context.node, own);
  }
  if (measure && !directory.path().empty()) add_counters(report, directory.path(), own);
  if (context.settings.usage) ranks.add_usage(report);
  if (!report.empty()) {
    const std::vector<Chunk> pieces = report.take();
    for (const Chunk& piece : pieces)
      context.emit(event::SendTrace{&piece == &pieces.back(), piece});
  }
  const MemoryUse use = measure ? memory_use() : quick_memory_use();
  const std::uint64_t up = parent.link() != nullptr ? parent.link()->sent_bytes() : 0;
  context.emit(event::Measured{up + children.sent_bytes(), use.private_bytes, use.resident_bytes});
}

void Shell::State::carry_out(action::Finish&) {
  finished = true;
  // The root has no guardian. It ends the processes that became its children because an agent and
  // its guardian were killed together. Processes that stay (--keep) may be its children too.
  for (int i = 0; sweeps && i < kRootSweeps && descendants.any(); ++i) {
    descendants.signal_all(SIGKILL);
    pollfd ended{reaper.descriptor(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(kKillAgainMs));
    reap();
  }
  record.finish();
  directory.remove();
}

void Shell::State::leave_if_done() {
  if (!finished) return;
  if (parent.link() != nullptr && !parent.link()->finish()) return;
  context.io.stop();
}

// The interface.

Shell::Shell(std::unique_ptr<State> state) : state_(std::move(state)) {}
Shell::~Shell() = default;

Result<std::unique_ptr<Shell>> Shell::create(ShellOptions options) {
  Result<Reaper> reaper = Reaper::create();
  if (!reaper) return fail(reaper.error());
  if (Result<void> room = check_event_loop_room(); !room) return fail(room.error());
  auto state = std::make_unique<State>(std::move(options), std::move(*reaper));
  if (!state->options.record.empty()) {
    state->record.start(state->options.record);
    if (Result<void> made = state->record.make_file(); !made) return fail(made.error());
  }
  state->begin();
  return std::unique_ptr<Shell>(new Shell(std::move(state)));
}

void Shell::post(Event event) {
  state_->context.emit(std::move(event));
  if (!state_->pumping) {
    boost::asio::post(state_->context.io, [state = state_.get()] { state->pump(); });
  }
}

int Shell::run() {
  state_->context.io.run();
  return state_->finished ? 0 : 1;
}

bool Shell::was_in_vain() const {
  return state_->parent.was_in_vain();
}

bool Shell::all_sent() const {
  return state_->context.events.empty() && state_->children.all_sent();
}

boost::asio::io_context& Shell::context() {
  return state_->context.io;
}
const std::optional<Error>& Shell::record_error() const {
  return state_->record.error();
}

}  // namespace scela::nla
