#include "nla/process/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "nla/guard/guardian.h"
#include "nla/process/shell_state.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

std::string boot_id() {
  return read_small_file("/proc/sys/kernel/random/boot_id").substr(0, 36);
}

}  // namespace

// Beginning.

void Shell::State::begin() {
  // Children that a shell left to the program it executed must not be ended by scela-run.
  sweeps = options.role == Role::root && children_of(::getpid()).empty();
  become_subreaper();
  ::signal(SIGPIPE, SIG_IGN);
  watch_reaper();
  if (options.role == Role::agent) {
    parent = make_stream_link(buffer, kParentLink, *this);
    parent->attach(options.parent_out ? make_pipe_transport(io, std::move(options.parent),
                                                            std::move(options.parent_out))
                                      : make_fd_transport(io, std::move(options.parent)));
    if (options.remote) watch_parent();
    if (options.guardian_socket) {
      leash_watch.assign(options.guardian_socket.get());
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
  reaper.reap(
      [&](pid_t pid, int status) {
        if (ranks && ranks->reaped(pid, status)) return;
        for (std::size_t i = 0; i < children.size(); ++i) {
          ChildAgent& child = *children[i];
          if (child.pid != pid) continue;
          child.pid = 0;
          child.status = status;
          return child_gone_if(child, static_cast<LinkId>(i + 1));
        }
        if (spawner) spawner->reaped(pid, status);
      },
      [&](pid_t pid) {
        for (const auto& child : children)
          if (child->pid == pid) continue_guardian(*child);
      });
  if (leftovers != Leftovers::none) check_leftovers();
}

// While a guardian is stopped, no process ends its node if its agent dies. The guardian is not
// continued at once, since the process that has stopped it may be about to kill it.
void Shell::State::continue_guardian(ChildAgent& child) {
  child.guardian_timer.emplace(io);
  child.guardian_timer->set(std::chrono::milliseconds(kStoppedGuardianMs), [&child] {
    if (child.pid != 0) ::kill(child.pid, SIGCONT);
  });
}

void Shell::State::watch_leash() {
  leash_watch.async_wait(Descriptor::wait_read, [this](const error_code& error) {
    if (error) return;
    switch (read_guardian_socket(options.guardian_socket)) {
      case LeashNews::nothing:
        break;
      case LeashNews::end_node:
        emit(event::GuardianLost{});
        break;
      case LeashNews::guardian_gone:
        leash_watch.release();
        options.guardian_socket.reset();
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
    children[link - 1]->heart.reset();  // its guardian cleans up silently
    if (std::exchange(children[link - 1]->given_up, true)) return;
  } else if (finished) {
    return;
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
  // The guardian did not end in peace, so the directory may still be there.
  if (child.status != 0 && child.contact.here()) {
    static_cast<void>(remove_tree(directory_of(child.contact.name)));
  }
  emit(event::ChildGone{id});
}

void Shell::State::flush_links() {
  if (parent) parent->flush();
  for (const auto& child : children) {
    if (child->link->queued_bytes() > 0) child->link->flush();
  }
}

// Messages that cannot be passed on must not be taken in. Reading from the children waits for both
// directions, reading from the parent only for the children. So some link always moves: the root
// has no parent, a leaf no children.
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
  change_busy();
  flush_links();
  apply_back_pressure();
  leave_if_done();
  pumping = false;
}

// Keeps the facts that the shell itself needs of the events that pass through.
void Shell::State::learn(const Event& event) {
  if (const auto* begin = std::get_if<event::Begin>(&event)) {
    job_id = begin->job_id;
    adopt_ms = begin->adopt_ms;
    degree = begin->degree;
    use_settings(begin->settings);
    return;
  }
  const auto* received = std::get_if<event::Received>(&event);
  if (received == nullptr) return;
  if (received->link == kParentLink) {
    if (const auto* end = std::get_if<msg::Terminate>(&received->message)) {
      tell_grace(options.guardian_socket, end->grace_ms);
    }
    const auto* start = std::get_if<msg::Start>(&received->message);
    if (start == nullptr || started_ns != 0) return;
    job_id = start->job_id;
    node_index = start->slice.first;
    degree = start->degree;
    adopt_ms = start->adopt_ms;
    tell_grace(options.guardian_socket, start->grace_ms);
    use_settings(start->settings);
    // On the root's own machine the clocks are one. Elsewhere the time of the message's way is the
    // error.
    if (tracer.enabled() && (settings.boot_id.empty() || settings.boot_id != boot_id())) {
      clock_offset = start->clock_ns - monotonic_ns();
    }
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
  if (heart_timer) arm_heart();
  if (settings.trace) tracer.enable();
  if (options.role == Role::root || settings.record.empty()) return;
  record_path = cat(settings.record, ".", node_index);
  recorder.emplace(options.role);
}

void Shell::State::write_record(bool all) {
  if (!recorder || recorder->size() == 0 || (!all && recorder->size() < kRecordBlock)) return;
  if (!record_file) {
    Result<Fd> file = open_file(record_path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file) return record_failed(file.error());
    record_file = std::move(*file);
  }
  const std::string bytes = recorder->take();
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t wrote =
        retry([&] { return ::write(record_file.get(), bytes.data() + at, bytes.size() - at); });
    if (wrote < 0) {
      return record_failed(
          os_error(ErrorKind::io, cat("write the record '", record_path, "'"), errno));
    }
    at += static_cast<std::size_t>(wrote);
  }
}

// The job goes on without its record. An error of the root's own record is told when the job is
// over.
void Shell::State::record_failed(Error why) {
  recorder.reset();
  if (options.role != Role::root)
    emit(event::Say{{LogLevel::error, Subsystem::trace, options.node, why.text()}});
  record_error = std::move(why);
}

// The interface.

Shell::Shell(std::unique_ptr<State> state) : state_(std::move(state)) {}
Shell::~Shell() = default;

Result<std::unique_ptr<Shell>> Shell::create(ShellOptions options) {
  Result<Reaper> reaper = Reaper::create();
  if (!reaper) return fail(reaper.error());
  std::unique_ptr<State> state;
  try {
    state = std::make_unique<State>(std::move(options), std::move(*reaper));
  } catch (const boost::system::system_error& error) {
    return fail(Error{ErrorKind::internal, "set the event loop up", "", error.what(),
                      "see whether the limit of open files (ulimit -n) is too low"});
  }
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

bool Shell::all_sent() const {
  return state_->events.empty() && std::ranges::all_of(state_->children, [](const auto& child) {
           return child->link->queued_bytes() == 0;
         });
}

boost::asio::io_context& Shell::context() {
  return state_->io;
}
const std::optional<Error>& Shell::record_error() const {
  return state_->record_error;
}
std::uint64_t Shell::root_clock_ns() const {
  return state_->clock_ns();
}
std::string Shell::describe() const {
  return state_->core.describe();
}

}  // namespace scela::nla
