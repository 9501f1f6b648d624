#include "nla/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "common/core/text.h"
#include "common/os/affinity.h"
#include "common/os/asio.h"
#include "common/os/clock.h"
#include "common/os/memory.h"
#include "common/os/private_dir.h"
#include "common/os/process_tree.h"
#include "common/os/reaper.h"
#include "common/os/syscall.h"
#include "nla/core/record.h"
#include "nla/link/factory.h"
#include "nla/ranks.h"
#include "nla/settings.h"
#include "nla/spawn/factory.h"
#include "nla/spawn/guardian.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::asio::steady_timer;
using boost::system::error_code;

// Another node's agent, started from here.
struct ChildAgent {
  std::unique_ptr<Link> link;
  std::string host;
  std::uint64_t asked_ns = 0;  // when it was to be started
  pid_t pid = 0;               // 0: not started, or reaped
  int status = 0;              // of the reaped process
  bool starting = true;        // the spawner has not answered yet
  bool closed = false;         // nobody holds the other end of its link
  bool given_up = false;       // its end is no news any more
  bool gone = false;
};

std::string boot_id() {
  return read_small_file("/proc/sys/kernel/random/boot_id").substr(0, 36);
}

}  // namespace

struct Shell::State final : LinkListener {
  State(ShellOptions wanted, Reaper made)
      : options(std::move(wanted)),
        core(options.role),
        reaper(std::move(made)),
        reaper_watch(io, reaper.descriptor()),
        leash_watch(io),
        descendants(options.agent),
        spawner(make_local_spawner(options.agent)) {}
  ~State() override {
    // The reaper owns this one.
    reaper_watch.release();
    if (leash_watch.is_open()) leash_watch.release();
  }

  void begin();

  // LinkListener
  void on_frame(LinkId link, Frame frame) override;
  void on_ended(LinkId link, std::string why) override;
  void on_closed(LinkId link) override;
  void on_turn_over() override { pump(); }
  void on_drained(LinkId) override {}

  // Events in.
  void emit(Event event) { events.push_back(std::move(event)); }
  void pump();
  void handle(const Event& event);
  void learn(const Event& event);
  void use_settings(const std::string& text);
  void watch_reaper();
  void reap();
  void watch_leash();

  // Actions out.
  template <class A>
  void carry_out(A& action);
  void carry_out(action::Send& send);
  void carry_out(action::StartChild& start);
  void carry_out(action::CloseLink& close);
  void carry_out(action::UseJob& use);
  void carry_out(action::StartRanks& start);
  void carry_out(action::EndLeftovers& end);
  void carry_out(action::SetTimer& set);
  void carry_out(action::CancelTimer& cancel);
  void carry_out(action::Finishing& finishing);
  void carry_out(action::Finish& finish);

  void start_child(LinkId id);
  void child_gone_if(ChildAgent& child, LinkId id);
  void check_leftovers();
  void kill_again();
  void flush_links();
  void apply_back_pressure();
  void leave_if_done();
  std::string make_directory();
  std::string directory_of(std::string_view host) const;
  Link* link_of(LinkId id);
  void write_record(bool all);
  void record_failed(const std::string& why);
  std::uint64_t clock_ns() const { return monotonic_ns() + clock_offset; }

  boost::asio::io_context io{1};
  ShellOptions options;
  Agent core;
  ReadBuffer buffer;
  Tracer tracer;

  std::deque<Event> events;
  Actions actions;
  bool pumping = false;

  Settings settings;
  std::string job_id;
  std::uint32_t node_index = 0;
  std::uint64_t clock_offset = 0;  // root's clock minus ours, modulo 2^64
  std::uint64_t started_ns = 0;    // Start came
  std::optional<Job> job;
  std::string directory;  // of this node; empty: none was made
  std::uint64_t use_job_ns = 0;

  Reaper reaper;
  Descriptor reaper_watch;
  Descriptor leash_watch;
  Descendants descendants;
  enum class Leftovers { none, asked, killing } leftovers = Leftovers::none;
  std::optional<steady_timer> kill_timer;
  std::array<std::optional<steady_timer>, kTimers> timers;

  std::unique_ptr<Spawner> spawner;
  std::unique_ptr<Link> parent;
  std::vector<std::unique_ptr<ChildAgent>> children;  // position = link - 1
  std::unique_ptr<Ranks> ranks;
  std::uint64_t early_credit = 0;  // for output, given before the ranks were started
  bool paused = false;             // children's links and PMI are not read

  std::optional<RecordWriter> recorder;
  std::string record_path;
  Fd record_file;
  bool finished = false;
};

// Beginning.

void Shell::State::begin() {
  become_subreaper();
  ::signal(SIGPIPE, SIG_IGN);
  watch_reaper();
  if (options.role == Role::agent) {
    parent = make_stream_link(io, buffer, kParentLink, *this);
    parent->attach(std::move(options.parent));
    if (options.leash) {
      leash_watch.assign(options.leash.get());
      watch_leash();
    }
  }
}

void Shell::State::watch_reaper() {
  reaper_watch.async_wait(Descriptor::wait_read, [this](const error_code& error) {
    if (error) return;
    reap();
    watch_reaper();
    pump();
  });
}

void Shell::State::reap() {
  reaper.clear();
  reaper.reap([&](pid_t pid, int status) {
    if (ranks && ranks->reaped(pid, status)) return;
    for (std::size_t i = 0; i < children.size(); ++i) {
      ChildAgent& child = *children[i];
      if (child.pid != pid) continue;
      child.pid = 0;
      child.status = status;
      return child_gone_if(child, static_cast<LinkId>(i + 1));
    }
  });
  if (leftovers != Leftovers::none) check_leftovers();
}

void Shell::State::watch_leash() {
  leash_watch.async_wait(Descriptor::wait_read, [this](const error_code& error) {
    if (error) return;
    switch (read_leash(options.leash)) {
      case LeashNews::nothing:
        break;
      case LeashNews::end_node:
        emit(event::GuardianLost{});
        break;
      case LeashNews::guardian_gone:
        leash_watch.release();
        options.leash.reset();
        emit(event::GuardianLost{});
        return pump();
    }
    watch_leash();
    pump();
  });
}

// Links.

Link* Shell::State::link_of(LinkId id) {
  if (id == kParentLink) return parent.get();
  return id <= children.size() ? children[id - 1]->link.get() : nullptr;
}

void Shell::State::on_frame(LinkId link, Frame frame) {
  Result<Message> message = decode(std::move(frame));
  if (message) return emit(event::Received{link, std::move(*message), clock_ns()});
  if (Link* broken = link_of(link)) broken->give_up();
  on_ended(link, message.error().text());
}

void Shell::State::on_ended(LinkId link, std::string why) {
  if (link != kParentLink) {
    if (std::exchange(children[link - 1]->given_up, true)) return;
  }
  emit(event::LinkEnded{link, std::move(why)});
}

void Shell::State::on_closed(LinkId link) {
  if (link == kParentLink) return;
  children[link - 1]->closed = true;
  child_gone_if(*children[link - 1], link);
}

void Shell::State::child_gone_if(ChildAgent& child, LinkId id) {
  if (child.gone || child.starting || child.pid != 0 || !child.closed) return;
  child.gone = true;
  // Its guardian did not end in peace, so nobody may have removed the directory.
  if (child.status != 0) static_cast<void>(remove_tree(directory_of(child.host)));
  emit(event::ChildGone{id});
}

void Shell::State::flush_links() {
  if (parent) parent->flush();
  for (const auto& child : children) {
    if (child->link->queued_bytes() > 0) child->link->flush();
  }
}

// What cannot be passed on must not be taken in. Upwards waits for either direction, downwards only
// for the children, so that some link always moves: the root has no parent, a leaf no children.
void Shell::State::apply_back_pressure() {
  const bool down_full = std::ranges::any_of(
      children, [](const auto& child) { return child->link->queued_bytes() > kHighWater; });
  const bool full = down_full || (parent && parent->queued_bytes() > kHighWater);
  if (parent) parent->set_reading(!down_full);
  if (full == std::exchange(paused, full)) return;
  for (const auto& child : children)
    child->link->set_reading(!full);
  if (ranks) ranks->set_pmi_reading(!full);
}

// The pump: events to the core, actions out, until neither causes another.

void Shell::State::pump() {
  if (std::exchange(pumping, true)) return;
  while (!events.empty()) {
    const Event event = std::move(events.front());
    events.pop_front();
    handle(event);
  }
  flush_links();
  apply_back_pressure();
  leave_if_done();
  pumping = false;
}

void Shell::State::handle(const Event& event) {
  learn(event);
  actions.clear();
  core.handle(event, actions);
  if (recorder) {
    recorder->add(event, actions);
    write_record(false);
  }
  // An action may cause events but never actions: those come from the core alone.
  for (Action& action : actions) {
    std::visit([&](auto& one) { carry_out(one); }, action);
  }
}

// What the shell itself must know of what passes through.
void Shell::State::learn(const Event& event) {
  if (const auto* begin = std::get_if<event::Begin>(&event)) {
    job_id = begin->job_id;
    use_settings(begin->settings);
    return;
  }
  const auto* received = std::get_if<event::Received>(&event);
  if (received == nullptr) return;
  if (received->link == kParentLink) {
    const auto* start = std::get_if<msg::Start>(&received->message);
    if (start == nullptr || started_ns != 0) return;
    job_id = start->job_id;
    node_index = start->slice.first;
    tell_grace(options.leash, start->grace_ms);
    use_settings(start->settings);
    // On the root's own machine the clocks are one; elsewhere the message's way here is the error.
    const bool same_clock = !settings.boot_id.empty() && settings.boot_id == boot_id();
    if (!same_clock && tracer.enabled()) clock_offset = start->clock_ns - monotonic_ns();
    started_ns = clock_ns();
  } else if (std::holds_alternative<msg::Hello>(received->message) &&
             received->link <= children.size()) {
    tracer.span("start agent", children[received->link - 1]->asked_ns, clock_ns());
  }
}

void Shell::State::use_settings(const std::string& text) {
  Result<Settings> parsed = parse_settings(text);
  if (!parsed) {
    emit(event::Say{{LogLevel::error, Subsystem::launch, options.node, parsed.error().text()}});
    return;
  }
  settings = std::move(*parsed);
  if (settings.trace) tracer.enable();
  if (options.role == Role::root || settings.record.empty()) return;
  record_path = cat(settings.record, ".", node_index);
  recorder.emplace(options.role);
}

void Shell::State::write_record(bool all) {
  if (!recorder || recorder->size() == 0 || (!all && recorder->size() < kRecordBlock)) return;
  if (!record_file) {
    Result<Fd> file = open_file(record_path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file) return record_failed(file.error().text());
    record_file = std::move(*file);
  }
  const std::string bytes = recorder->take();
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t wrote =
        retry([&] { return ::write(record_file.get(), bytes.data() + at, bytes.size() - at); });
    if (wrote < 0) return record_failed(cat("write '", record_path, "': ", errno_text(errno)));
    at += static_cast<std::size_t>(wrote);
  }
}

void Shell::State::record_failed(const std::string& why) {
  recorder.reset();
  emit(event::Say{{LogLevel::error, Subsystem::trace, options.node, "the record ends: " + why}});
}

// Actions.

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
  } else if (options.on_action) {
    const Action shown(std::move(action));
    options.on_action(shown);
  }
}

void Shell::State::carry_out(action::Send& send) {
  Link* link = link_of(send.link);
  if (link == nullptr) return;
  if (auto* start = std::get_if<msg::Start>(&send.message)) start->clock_ns = clock_ns();
  if (auto* hello = std::get_if<msg::Hello>(&send.message)) hello->clock_ns = clock_ns();
  if (std::holds_alternative<msg::Ready>(send.message)) {
    tracer.span("build tree", started_ns, clock_ns());
  } else if (std::holds_alternative<msg::Launched>(send.message)) {
    tracer.span("start ranks", use_job_ns, clock_ns());
  }
  link->send(encode(send.message));
}

void Shell::State::carry_out(action::StartChild& start) {
  auto child = std::make_unique<ChildAgent>();
  child->link = make_stream_link(io, buffer, start.link, *this);
  child->link->set_reading(!paused);
  child->host = std::move(start.host);
  child->asked_ns = clock_ns();
  children.push_back(std::move(child));  // links count from 1 in the order they are started
  // Not now: a start takes a while, and there are other children to start and links to serve.
  boost::asio::post(io, [this, id = start.link] { start_child(id); });
}

void Shell::State::start_child(LinkId id) {
  ChildAgent& child = *children[id - 1];
  if (child.given_up) {
    child.starting = false;
    child.closed = true;
    child_gone_if(child, id);
    return pump();
  }
  spawner->start(child.host, [this, id](tl::expected<StartedAgent, SpawnFailure> started) {
    ChildAgent& one = *children[id - 1];
    one.starting = false;
    if (started) {
      one.pid = started->pid;
      one.link->attach(std::move(started->stream));
    } else {
      one.gone = true;
      one.link->give_up();
      emit(event::ChildFailed{id, started.error().phase, std::move(started.error().why)});
    }
    pump();
  });
}

void Shell::State::carry_out(action::CloseLink& close) {
  if (close.link == kParentLink || close.link > children.size()) return;
  children[close.link - 1]->given_up = true;
  children[close.link - 1]->link->give_up();
}

void Shell::State::carry_out(action::UseJob& use) {
  job = std::move(use.job);
  use_job_ns = clock_ns();
  tell_grace(options.leash, job->grace_ms);
}

void Shell::State::carry_out(action::StartRanks& start) {
  NodeFacts facts;
  facts.name = options.node;
  facts.index = node_index;
  const std::string problem = make_directory();
  facts.directory = directory;
  if (job->bind_to != BindTo::none) {
    facts.cpus = share_of(allowed_cpus(), node_index % settings.shares, settings.shares);
  }
  RanksHost host{io,
                 buffer,
                 tracer,
                 [this] { return clock_ns(); },
                 [this](Event event) { emit(std::move(event)); },
                 [this] { pump(); }};
  ranks = std::make_unique<Ranks>(std::move(host), *job, start.ranks, std::move(facts), problem);
  ranks->set_pmi_reading(!paused);
  ranks->allow_output(std::exchange(early_credit, 0));
  ranks->start(start.ranks);
}

std::string Shell::State::directory_of(std::string_view host) const {
  return private_directory_path(settings.directory.empty() ? temporary_base() : settings.directory,
                                cat("scela-", ::getuid(), "-", job_id, "-", host));
}

// Empty, or why there is none.
std::string Shell::State::make_directory() {
  std::string path = directory_of(options.node);
  // The guardian must know before it exists.
  tell_directory(options.leash, path);
  Result<void> made = make_private_directory(path);
  if (!made) return made.error().text();
  directory = std::move(path);
  return {};
}

void Shell::State::carry_out(action::EndLeftovers& end) {
  if (end.force) {
    if (ranks) ranks->cancel_starts();
    leftovers = Leftovers::killing;
    return kill_again();
  }
  leftovers = Leftovers::asked;
  check_leftovers();
  if (leftovers == Leftovers::asked) descendants.signal_all(SIGTERM);
}

void Shell::State::check_leftovers() {
  std::vector<pid_t> agents;
  for (const auto& child : children) {
    if (child->pid != 0) agents.push_back(child->pid);
  }
  std::ranges::sort(agents);
  if (descendants.any(agents)) return;
  leftovers = Leftovers::none;
  if (kill_timer) kill_timer->cancel();
  emit(event::NodeEmpty{});
}

void Shell::State::kill_again() {
  descendants.signal_all(SIGKILL);
  check_leftovers();
  if (leftovers != Leftovers::killing) return;
  if (!kill_timer) kill_timer.emplace(io);
  kill_timer->expires_after(std::chrono::milliseconds(kKillAgainMs));
  kill_timer->async_wait([this](const error_code& error) {
    if (error || leftovers != Leftovers::killing) return;
    kill_again();
    pump();
  });
}

void Shell::State::carry_out(action::SetTimer& set) {
  std::optional<steady_timer>& timer = timers[static_cast<std::size_t>(set.timer)];
  if (!timer) timer.emplace(io);
  timer->expires_after(std::chrono::milliseconds(set.delay_ms));
  timer->async_wait([this, which = set.timer](const error_code& error) {
    if (error) return;
    emit(event::TimerFired{which});
    pump();
  });
}

void Shell::State::carry_out(action::CancelTimer& cancel) {
  std::optional<steady_timer>& timer = timers[static_cast<std::size_t>(cancel.timer)];
  if (timer) timer->cancel();
}

void Shell::State::carry_out(action::Finishing&) {
  if (tracer.enabled()) {
    const bool root = options.role == Role::root;
    const RankSet own = root || !job ? RankSet() : job->map.ranks_of(node_index);
    const std::vector<Chunk> pieces =
        tracer.lines(root ? 0 : node_index + 1, root ? "scela-run" : options.node, own);
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
  write_record(true);
  if (!directory.empty()) static_cast<void>(remove_tree(directory));
}

void Shell::State::leave_if_done() {
  if (!finished) return;
  if (parent && parent->queued_bytes() > 0) return;
  io.stop();
}

// The interface.

Shell::Shell(std::unique_ptr<State> state) : state_(std::move(state)) {}
Shell::~Shell() = default;

Result<std::unique_ptr<Shell>> Shell::create(ShellOptions options) {
  Result<Reaper> reaper = Reaper::create();
  if (!reaper) return fail(reaper.error());
  auto state = std::make_unique<State>(std::move(options), std::move(*reaper));
  if (!state->options.record.empty()) {
    state->record_path = state->options.record;
    state->recorder.emplace(state->options.role);
    Result<Fd> file = open_file(state->record_path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file) return fail(file.error());
    state->record_file = std::move(*file);
  }
  state->begin();
  return std::unique_ptr<Shell>(new Shell(std::move(state)));
}

void Shell::post(Event event) {
  state_->emit(std::move(event));
  if (!state_->pumping) boost::asio::post(state_->io, [state = state_.get()] { state->pump(); });
}

int Shell::run() {
  state_->io.run();
  return state_->finished ? 0 : 1;
}

boost::asio::io_context& Shell::context() {
  return state_->io;
}
std::uint64_t Shell::root_clock_ns() const {
  return state_->clock_ns();
}
std::string Shell::describe() const {
  return state_->core.describe();
}

}  // namespace scela::nla
