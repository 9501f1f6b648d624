#include "hca/engine/daemon/engine_server.h"

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>

#include "common/core/text.h"
#include "common/os/affinity.h"
#include "common/os/clock.h"
#include "common/os/syscall.h"
#include "hca/engine/io/stderr_report.h"

namespace scela::hca {

namespace {
// Questions that one connection may ask at a time, so that one that asks without end does not keep
// others waiting.
constexpr int kAsksAtOnce = 16;
}  // namespace

Result<void> Server::serve(const Rules& rules, EngineRuntimeDir* home, Fd listening,
                           std::unique_ptr<Fabric> fabric, int ready) {
  auto poller = TaggedPoller::make();
  if (!poller) return fail(poller.error());
  auto page = SealedMemory::make("scela-hca", sizeof(EngineMemory), SealedMemory::Writers::all);
  if (!page) return fail(page.error());
  Server server(rules, home, std::move(listening), std::move(fabric), std::move(*poller),
                std::move(*page));
  if (auto done = server.set_up(); !done) return done;
  for (const std::string& complaint : rules.complaints)
    report(complaint);
  if (ready >= 0) {
    const Fd told(ready);
    const char byte = 1;
    static_cast<void>(retry([&] { return ::write(told.get(), &byte, 1); }));
  }
  server.begin_idle_wait();
  server.run();
  if (server.fabric_) server.fabric_->finish();
  return {};
}

Server::Server(const Rules& rules, EngineRuntimeDir* home, Fd listening,
               std::unique_ptr<Fabric> fabric, TaggedPoller poller, SealedMemory page)
    : rules_(rules),
      home_(home),
      listening_(std::move(listening)),
      poller_(std::move(poller)),
      page_memory_(std::move(page)),
      memory_(*new (page_memory_.base()) EngineMemory),
      page_(memory_.page),
      fabric_(std::move(fabric)),
      was_told_(fabric_ != nullptr),
      engine_(machine_, rules.settings),
      pending_(rules.silence),
      patience_(allowed_cpus().size()) {}

Result<void> Server::set_up() {
  if (!rules_.trace.empty()) {
    auto trace = TraceFile::make(rules_.trace);
    if (!trace) return fail(trace.error());
    trace_.emplace(std::move(*trace));
    engine_.watch(&*trace_);
  }
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signo : {SIGTERM, SIGINT, SIGHUP})
    ::sigaddset(&ends, signo);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  signals_.reset(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_ || !poller_.add(listening_.get(), EPOLLIN, {Tag::Kind::listener}) ||
      !poller_.add(signals_.get(), EPOLLIN, {Tag::Kind::signals}) ||
      (fabric_ && !fabric_->join(poller_, engine_))) {
    return fail(
        os_error(ErrorKind::io, "wait for descriptors", errno, std::string(limit_advice(errno))));
  }
  if (fabric_) machine_.join(*fabric_);
  tell_settings();
  return {};
}

// Writes the settings to the shared memory. Processes may read them at any time.
void Server::tell_settings() {
  auto marks = rules_.settings_told;
  marks[static_cast<std::size_t>(Variable::encrypt)] =
      (fabric_ ? fabric_->own_node().encrypts() : rules_.encrypt) ? 1 : 0;
  for (std::size_t i = 0; i < marks.size(); ++i)
    memory_.settings[i].store(marks[i], std::memory_order_relaxed);
}

void Server::complain(const std::string& what) {
  const Moment now = monotonic_ns();
  if (now < complain_again_) return;
  report(what);
  complain_again_ = now + 1'000'000'000;
}

void Server::accept_all() {
  while (listening_) {
    Fd made(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!made) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EINVAL) return;  // EINVAL: it was shut (end_if_idle)
      complain(cat("cannot accept a connection: ", errno_text(errno)));
      return;
    }
    const ProcessId id = next_++;
    Served served{Connection(std::move(made))};
    const auto peer = served.connection.peer();
    if (!peer || peer->user != ::geteuid()) {
      report(cat("refused process ", peer ? peer->pid : 0, " of user ", peer ? peer->user : 0,
                 ": this engine serves user ", ::geteuid()));
      continue;
    }
    if (poller_.add(served.connection.descriptor(), EPOLLIN, {Tag::Kind::connection, id})) {
      served_.emplace(id, std::move(served));
      pending_.came(id, monotonic_ns());
    }
  }
}

void Server::serve_requests(ProcessId id) {
  for (int i = 0; i < kAsksAtOnce; ++i) {
    const auto found = served_.find(id);
    if (found == served_.end()) return;
    Served& served = found->second;
    Ask ask;
    std::string record;
    Connection::Handed handed;
    bool goes_on = false;
    switch (served.connection.receive(ask, record, handed)) {
      case Connection::MessageKind::nothing:
        return;
      case Connection::MessageKind::ask:
        goes_on = answer(id, served, ask, handed);
        break;
      case Connection::MessageKind::status:
        goes_on = served.connection.answer(status_text(status()));
        break;
      case Connection::MessageKind::status_json:
        goes_on = served.connection.answer(status_json(status()));
        break;
      case Connection::MessageKind::join:
        goes_on = join(served, record);
        break;
      case Connection::MessageKind::nonsense:
        goes_on = refuse(served, EPROTO);
        break;
      case Connection::MessageKind::end:
        break;
    }
    if (!goes_on) return drop(id);
  }
}

bool Server::refuse(const Served& served, int error) const {
  Answer answer;
  answer.error = static_cast<std::uint32_t>(error);
  static_cast<void>(served.connection.answer(answer, {}));
  return false;
}

bool Server::answer(ProcessId id, Served& served, const Ask& ask, Connection::Handed& handed) {
  if ((ask.operation == Operation::hello) == served.attached) return refuse(served, EPROTO);
  if (!served.attached) return attach(id, served, ask);
  Answer answer =
      ask.operation == Operation::reg_pool ? share(id, ask, handed) : engine_.ask(id, ask);
  Chunks& chunks = machine_.find(id)->chunks;
  std::vector<int> descriptors;
  Fd theirs;
  if (ask.operation == Operation::create_channel && answer.error == 0) {
    if (make_channel(id, answer, theirs)) descriptors.push_back(theirs.get());
  } else if (ask.operation == Operation::destroy_channel && answer.error == 0) {
    machine_.find(id)->channels.erase(ask.handle);
  } else if (ask.operation == Operation::dereg_mr && answer.error == 0) {
    machine_.find(id)->pools.unmap_region(ask.handle);
  }
  const std::vector<int> made = chunks.new_descriptors();
  descriptors.insert(descriptors.end(), made.begin(), made.end());
  answer.new_chunks = static_cast<std::uint32_t>(made.size());
  if (!served.connection.answer(answer, descriptors)) return false;
  chunks.handed_over();
  return true;
}

Answer Server::share(ProcessId id, const Ask& ask, Connection::Handed& handed) {
  Answer answer;
  if (!handed.file) {
    answer.error = handed.lost ? EMFILE : EBADF;
    return answer;
  }
  const bool writable = (ask.access & access::kLocalWrite) != 0;
  const Pools::Made made = machine_.map_pool(id, handed.file, {ask.address, ask.length, writable});
  handed.file.reset();
  if (made.error != 0) {
    answer.error = static_cast<std::uint32_t>(made.error);
    return answer;
  }
  Ask of_pool = ask;
  of_pool.address = made.address;
  answer = engine_.ask(id, of_pool);
  Pools& pools = machine_.find(id)->pools;
  if (answer.error == 0)
    pools.name(made.address, answer.handle);
  else
    pools.unmap(made.address);
  return answer;
}

bool Server::make_channel(ProcessId id, Answer& answer, Fd& theirs) {
  auto pair = make_socket_pair(SOCK_SEQPACKET);
  if (!pair) {
    Ask undo;
    undo.operation = Operation::destroy_channel;
    undo.handle = answer.handle;
    static_cast<void>(engine_.ask(id, undo));
    answer = {};
    answer.error = EMFILE;
    return false;
  }
  theirs = std::move(pair->theirs);
  machine_.find(id)->channels.insert_or_assign(answer.handle, EventSocket(std::move(pair->ours)));
  return true;
}

bool Server::attach(ProcessId id, Served& served, const Ask& ask) {
  auto chunks = Chunks::make();
  auto events = make_socket_pair(SOCK_SEQPACKET);
  const auto peer = served.connection.peer();
  if (!chunks || !events || !peer) {
    report(cat("cannot serve another process: ", !chunks  ? chunks.error().text()
                                                 : events ? ""
                                                          : events.error().text()));
    return refuse(served, ENOMEM);
  }
  // Each process has its own eventfd, so what it does to it affects no other process.
  served.wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!served.wake || !poller_.add(served.wake.get(), EPOLLIN | EPOLLET, {Tag::Kind::wake})) {
    report(cat("cannot serve another process: ", errno_text(errno)));
    return refuse(served, ENOMEM);
  }
  auto memory = ProcessMemory::of_peer(served.connection.descriptor(), peer->pid);
  // A process may have left its connection to a child. When it ends, its memory is gone, and its
  // objects go too.
  if (memory.descriptor()) {
    poller_.add(memory.descriptor().get(), EPOLLIN, {Tag::Kind::process, id});
  }
  Process& process = machine_.add(id, {std::move(memory),
                                       std::move(*chunks),
                                       EventSocket(std::move(events->ours)),
                                       {},
                                       {},
                                       {},
                                       {}});
  // A process that names no address has no thread that carries out orders.
  if (ask.address != 0 && !process.memory.is_reached(ask.address, ask.cookie)) {
    const Host::Shared area = process.chunks.allocate(kOrderAreaBytes);
    if (area.base == nullptr) {
      machine_.remove(id);
      return refuse(served, ENOMEM);
    }
    process.bounce.emplace(area);
  } else if (ask.address != 0) {
    process.sharing.emplace(process.chunks.page(), Sharing::pid_space());
  }
  engine_.attach(id, process.chunks.page());
  if (trace_) trace_->joined(id, peer->pid);
  served.attached = true;
  ++attached_;
  Answer answer = engine_.ask(id, ask);
  if (process.bounce) answer.send = process.bounce->region();
  std::vector<int> descriptors{page_memory_.fd().get(), served.wake.get(), events->theirs.get()};
  const std::vector<int> made = process.chunks.new_descriptors();
  descriptors.insert(descriptors.end(), made.begin(), made.end());
  answer.new_chunks = static_cast<std::uint32_t>(made.size());
  if (!served.connection.answer(answer, descriptors)) return false;
  process.chunks.handed_over();
  return true;
}

void Server::drop(ProcessId id) {
  const auto found = served_.find(id);
  if (found == served_.end()) return;
  if (found->second.attached) {
    engine_.detach(id);
    machine_.remove(id);
    if (trace_) trace_->write();
    --attached_;
  }
  // The process may keep the eventfd open for longer.
  if (found->second.wake) poller_.remove(found->second.wake.get());
  served_.erase(found);
  if (served_.empty()) begin_idle_wait();
}

void Server::drop_the_silent(Moment now) {
  for (const ProcessId id : pending_.due(now)) {
    const auto found = served_.find(id);
    if (found == served_.end() || found->second.attached || found->second.joined) continue;
    complain("dropped a process that has connected and does not say what it wants");
    drop(id);
  }
}

EngineStatus Server::status() const {
  EngineStatus status;
  status.pid = ::getpid();
  status.version = rules_.version;
  status.runs = runs_;
  status.sleeps = sleeps_;
  status.doorbells = doorbells_;
  status.alone = patience_.is_alone();
  status.transfers = machine_.counts().transfers;
  status.transferred_bytes = machine_.counts().bytes;
  status.counters = engine_.counters();
  for (ProcessCounters& entry : status.counters.processes) {
    const Process* const process = machine_.find(entry.process);
    status.who.push_back({process->memory.pid(), program_of(process->memory.pid())});
    entry.holdings.shared_bytes = process->chunks.bytes() + process->pools.bytes();
    status.counters.holdings.shared_bytes += entry.holdings.shared_bytes;
  }
  status.lid = rules_.settings.first_lid;
  if (fabric_) status.fabric = fabric_->status();
  return status;
}

}  // namespace scela::hca
