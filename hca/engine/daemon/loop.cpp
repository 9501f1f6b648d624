#include <sched.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "common/os/affinity.h"
#include "common/os/clock.h"
#include "hca/core/wire/doorbells.h"
#include "hca/engine/daemon/engine_server.h"
#include "hca/engine/io/stderr_report.h"

namespace scela::hca {

namespace {

// Under load, the engine looks at its sockets after this many runs: a run takes some tens of
// microseconds.
constexpr std::uint64_t kRunsPerLook = 16;
// A process may be stopped after it has marked the engine as awake and before it has woken it. That
// must not make others wait for ever.
constexpr std::uint64_t kLongestSleepNs = 100'000'000;
// The time that the engine's starter has to connect, and the wait until the lock is tried again.
constexpr std::uint64_t kFirstNs = 10'000'000'000;
constexpr std::uint64_t kRetryNs = 2'000'000;
// The time between two looks at the processors of the processes: they may be moved at any time.
constexpr std::uint64_t kPlacesNs = 100'000'000;

inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Ends as if killed: no process is told, and the files stay.
[[noreturn]] void die() {
  report("ends as if killed, as SCELA_HCA_FAULTS (dies-after) says");
  for (;;)
    ::kill(::getpid(), SIGKILL);
}

// Returns how often another thread took this thread's processor while it could have run on.
std::uint64_t involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

}  // namespace

void Server::run() {
  while (!over_) {
    bool more = engine_.run(monotonic_ns());
    if (engine_.has_died()) die();
    ++runs_;
    if (machine_.has_news()) attend_to_machine();
    if (fabric_ && fabric_->send_waiting(monotonic_ns())) more = true;
    if (!more && !spin()) sleep();
    // This is also needed if a doorbell that is always set prevents every sleep.
    if (runs_ % kRunsPerLook == 0) look(0);
    if (pending_.deadline()) drop_the_silent(monotonic_ns());
    if (idle_until_ && monotonic_ns() >= *idle_until_) end_if_idle();
  }
}

// Returns true if there are processes, and none may run on the engine's processors. The processes
// or their launcher have then put the engine elsewhere.
bool Server::is_alone() const {
  const std::vector<int> own = allowed_cpus();
  if (attached_ == 0 || own.empty()) return false;
  const auto shares = [&](const auto& one) {
    const Process* const process = one.second.attached ? machine_.find(one.first) : nullptr;
    if (process == nullptr) return false;
    const std::vector<int> theirs = allowed_cpus(process->memory.pid());
    // A process that may not be asked about counts as one that shares.
    return theirs.empty() || std::ranges::find_first_of(own, theirs) != own.end();
  };
  return std::ranges::none_of(served_, shares);
}

bool Server::spin() {
  const Moment now = monotonic_ns();
  if (now >= check_processors_at_) {
    check_processors_at_ = now + kPlacesNs;
    patience_.be_alone(is_alone(), involuntary_switches());
  }
  if (!patience_.spins(attached_)) return false;
  const Moment until = now + patience_.spin_ns();
  bool found = false;
  do {
    // The engines of other nodes that are simulated here may share this processor.
    if (patience_.is_alone()) ::sched_yield();
    for (int i = 0; i < 8 && !found; ++i) {
      pause_processor();
      found = engine_.wanted();
    }
    if (const std::uint64_t before = heard_; !found && fabric_ && fabric_->connected()) {
      look(0);
      found = heard_ != before;
    }
  } while (!found && monotonic_ns() < until);
  if (patience_.is_alone()) patience_.switched(involuntary_switches());
  patience_.spun(found);
  return found;
}

void Server::sleep() {
  if (may_sleep(page_, [this] { return engine_.wanted(); })) {
    const Moment now = monotonic_ns();
    std::optional<Moment> until = engine_.deadline();
    if (attached_ > 0) until = std::min(until.value_or(~0ULL), now + kLongestSleepNs);
    if (idle_until_) until = std::min(until.value_or(~0ULL), *idle_until_);
    if (const auto due = pending_.deadline()) until = std::min(until.value_or(~0ULL), *due);
    if (const auto due = fabric_ ? fabric_->deadline() : std::nullopt)
      until = std::min(until.value_or(~0ULL), *due);
    std::optional<std::uint64_t> most;
    if (until) most = *until > now ? *until - now : 0;
    if (trace_) trace_->settle();
    const bool talked = look(most);
    if (!talked) patience_.slept(monotonic_ns() - now);
    ++sleeps_;
    const bool rung = page_.asleep.load(std::memory_order_relaxed) == 0;
    if (rung) ++doorbells_;
    if (trace_) {
      trace_->slept(now, rung     ? TraceFile::Woken::doorbell
                         : talked ? TraceFile::Woken::other
                                  : TraceFile::Woken::time);
    }
  }
  wake_up(page_);
}

// Returns true if anything but the engine's doorbell or other nodes was ready.
bool Server::look(std::optional<std::uint64_t> most) {
  bool other = false;
  for (const TaggedPoller::Ready& ready : poller_.wait(most)) {
    other = other || (ready.tag.kind != Tag::Kind::wake && ready.tag.kind != Tag::Kind::fabric);
    take(ready);
  }
  return other;
}

void Server::take(const TaggedPoller::Ready& ready) {
  const ProcessId id = ready.tag.id;
  switch (ready.tag.kind) {
    case Tag::Kind::wake:
      return;
    case Tag::Kind::listener:
      return accept_all();
    case Tag::Kind::signals:
      over_ = true;
      return remove_socket();
    case Tag::Kind::connection:
      return serve_requests(id);
    case Tag::Kind::process:
      return drop(id);
    case Tag::Kind::fabric:
      ++heard_;
      return fabric_->take(id, ready.events, monotonic_ns());
    case Tag::Kind::directory:
      over_ = over_ || !fabric_->hear(monotonic_ns());
      return;
    case Tag::Kind::events: {
      const int descriptor = static_cast<int>(ready.tag.descriptor);
      const auto again = Tag{Tag::Kind::events, id, ready.tag.descriptor};
      if (machine_.flush(id, descriptor)) {
        poller_.add(descriptor, EPOLLOUT | EPOLLONESHOT, again);
      }
      return;
    }
  }
}

void Server::attend_to_machine() {
  for (const Machine::Full& full : machine_.take_full()) {
    poller_.add(full.descriptor, EPOLLOUT | EPOLLONESHOT,
                {Tag::Kind::events, full.process, static_cast<std::uint32_t>(full.descriptor)});
  }
  for (const ProcessId id : machine_.take_unread())
    drop(id);
}

void Server::begin_idle_wait() {
  if (!rules_.until_idle) return;
  const bool first = next_ == 1;
  idle_until_ = monotonic_ns() + (first ? kFirstNs : 0);
}

// Called when the engine is asked to end, which it does at once. Another process may hold the lock
// for long, because it starts another engine or was stopped. The socket is this engine's as long as
// it listens: no engine replaces one that can be connected to.
void Server::remove_socket() {
  if (home_ == nullptr) return;
  const std::optional<Fd> lock = home_->try_lock();
  home_->remove_socket();
}

// No process is lost between the look at the socket and its end. A process that finds no listener
// takes the lock first. A process that connected before is waiting, and is served.
void Server::end_if_idle() {
  accept_all();
  if (!served_.empty()) {
    idle_until_.reset();
    return;
  }
  if (home_ == nullptr) {
    over_ = true;
    return;
  }
  const std::optional<Fd> lock = home_->try_lock();
  if (!lock) {  // the directory has gone
    over_ = true;
    return;
  }
  if (!*lock) {  // a process is about to find this engine
    idle_until_ = monotonic_ns() + kRetryNs;
    return;
  }
  accept_all();
  if (!served_.empty()) {
    idle_until_.reset();
    return;
  }
  home_->remove_socket();
  // A process that has already looked the name up and connects from here on is refused, and tries
  // again.
  ::shutdown(listening_.get(), SHUT_RD);
  accept_all();
  listening_.reset();
  over_ = served_.empty();
  if (over_) return;
  // A process had the socket's name before it went. It is served here, and others find a new
  // socket.
  idle_until_.reset();
  if (auto again = home_->listen()) {
    poller_.add(again->get(), EPOLLIN, {Tag::Kind::listener});
    listening_ = std::move(*again);
  }
}

}  // namespace scela::hca
