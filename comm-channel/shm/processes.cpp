#include "comm-channel/shm/processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"

namespace scela::channel::shm {

namespace {

// No machine creates as many processes as there are numbers within this time, so a process's number
// is not reused sooner. That saves only a small part of a system call for each copy, but this is as
// much as a copy of 2 KiB.
constexpr std::uint64_t kNumbersLastNs = 1'000'000;

Fd pidfd_of(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool is_over(const Fd& process) {
  pollfd ended{process.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 1;
}

ssize_t read_memory(pid_t pid, std::uint64_t address, std::span<std::byte> to) {
  const iovec here{to.data(), to.size()};
  const iovec there{reinterpret_cast<void*>(address), to.size()};  // NOLINT: of the other process
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0);
}

// Reads by another thread of a process after its first thread has ended. All threads share the
// memory.
ssize_t read_by_a_thread(pid_t pid, std::uint64_t address, std::span<std::byte> to) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(cat("/proc/", pid, "/task"), error), end;
       !error && at != end; at.increment(error)) {
    const ssize_t got = read_memory(std::atoi(at->path().filename().c_str()), address, to);
    if (got >= 0 || errno != ESRCH) return got;
  }
  errno = ESRCH;
  return -1;
}

// Returns whether the process has ended and was not waited for yet. Its first thread alone may have
// ended.
bool is_zombie(pid_t pid) {
  ProcessFacts facts;
  if (!facts_of(pid, facts) || facts.state != 'Z') return false;
  std::error_code error;
  const std::filesystem::directory_iterator tasks(cat("/proc/", pid, "/task"), error);
  return !error && std::distance(begin(tasks), end(tasks)) == 1;
}

}  // namespace

std::uint64_t start_of(pid_t pid) {
  const std::string text = read_small_file(cat("/proc/", pid, "/stat").c_str());
  // The name, in brackets, may contain anything. Behind it, 20 fields precede the wanted one.
  std::size_t at = text.rfind(')');
  for (int field = 0; field < 20 && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at != std::string::npos)
    std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  return ticks;
}

Processes::Processes(std::shared_ptr<const Segment> segment, std::uint32_t self)
    : segment_(std::move(segment)), self_(self), processes_(segment_->shape().ranks) {}

Processes::Known Processes::look_at(std::uint32_t rank) {
  Process& process = processes_[rank];
  const Member& member = segment_->member(rank);
  if (process.known != Known::nothing || member.joined.load(std::memory_order_acquire) == 0)
    return process.known;
  Fd fd = pidfd_of(member.pid);
  const bool gone = !fd && errno == ESRCH;
  // Read after the descriptor was made: the process with this start is the one of the descriptor.
  const std::uint64_t started = gone ? 0 : start_of(member.pid);
  if (gone || (started != 0 && started != member.started)) return process.known = Known::ended;
  process.fd = std::move(fd);
  // Without a descriptor (a container forbids it, or there are no more), the number is used.
  return process.known = process.fd ? Known::by_descriptor : Known::by_number;
}

bool Processes::has_ended(std::uint32_t rank) {
  Process& process = processes_[rank];
  const Member& member = segment_->member(rank);
  switch (look_at(rank)) {
    case Known::nothing:
      return false;
    case Known::ended:
      return true;
    case Known::by_descriptor:
      if (!is_over(process.fd)) return false;
      break;
    case Known::by_number:
      if (::kill(member.pid, 0) == 0 || errno == EPERM) {
        const std::uint64_t started = start_of(member.pid);
        if ((started == 0 || started == member.started) && !is_zombie(member.pid)) return false;
      }
      break;
  }
  process.known = Known::ended;
  process.fd.reset();
  return true;
}

std::vector<std::uint32_t> Processes::newly_ended() {
  std::vector<std::uint32_t> found;
  const std::uint32_t ranks = segment_->shape().ranks;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    if (rank != self_ && segment_->ended(rank).load(std::memory_order_acquire) == 0 &&
        has_ended(rank))
      found.push_back(rank);
  return found;
}

// The value that a rank keeps for others to read is there while any of its memory is. A process
// loses its memory before it ends, and loses all of it when it runs another program.
bool Processes::has_memory(std::uint32_t rank) const {
  const Member& member = segment_->member(rank);
  std::uint64_t found = 0;
  const auto bytes = std::as_writable_bytes(std::span(&found, 1));
  ssize_t got = read_memory(member.pid, member.probe, bytes);
  if (got < 0 && errno == ESRCH) got = read_by_a_thread(member.pid, member.probe, bytes);
  return got == static_cast<ssize_t>(sizeof found) &&
         found == probe_value(segment_->place().nonce, rank);
}

Copied Processes::failed(std::uint32_t rank, std::uint64_t address, std::size_t left, int number) {
  Copied copied;
  const pid_t pid = segment_->member(rank).pid;
  const std::string what =
      cat("copy ", left, " bytes from address ", address, " of the node's rank ", rank);
  if (number == EFAULT && has_memory(rank)) {
    copied.why = Copied::Why::fault;
    copied.error = os_error(ErrorKind::usage, what, number,
                            "a buffer was freed, or is smaller than its message, on one side; it "
                            "belongs to the channel until its request is complete");
  } else if (number == EFAULT || number == ESRCH || has_ended(rank)) {
    copied.why = Copied::Why::ended;
    copied.error = Error{ErrorKind::io, what, "", cat("its process ", pid, " has ended"),
                         "what ended it says why"};
  } else {
    copied.why = Copied::Why::refused;
    copied.error =
        os_error(ErrorKind::io, what, number,
                 "the kernel refuses process_vm_readv (a container without CAP_SYS_PTRACE "
                 "or a seccomp profile, kernel.yama.ptrace_scope above 1): large messages "
                 "go in pieces, which takes longer");
  }
  return copied;
}

// The number may be another process's if this process was waited for and all other numbers were
// used since.
bool Processes::is_still_there(std::uint32_t rank) {
  const Known known = look_at(rank);
  if (known != Known::by_descriptor) return known != Known::ended;
  Process& process = processes_[rank];
  const std::uint64_t now = monotonic_ns();
  if (now - process.there_at < kNumbersLastNs) return true;
  if (::syscall(SYS_pidfd_send_signal, process.fd.get(), 0, nullptr, 0) != 0 && errno == ESRCH)
    return false;
  process.there_at = now;
  return true;
}

Copied Processes::read(std::uint32_t rank, std::uint64_t address, std::span<std::byte> to) {
  const pid_t pid = segment_->member(rank).pid;
  if (!is_still_there(rank)) return failed(rank, address, to.size(), ESRCH);
  while (!to.empty()) {
    ssize_t got = read_memory(pid, address, to);
    if (got < 0 && errno == ESRCH && !has_ended(rank)) got = read_by_a_thread(pid, address, to);
    if (got <= 0) return failed(rank, address, to.size(), got == 0 ? EFAULT : errno);
    to = to.subspan(static_cast<std::size_t>(got));
    address += static_cast<std::uint64_t>(got);
  }
  return {};
}

Copied Processes::probe(std::uint32_t rank) {
  std::uint64_t found = 0;
  Copied copied =
      read(rank, segment_->member(rank).probe, std::as_writable_bytes(std::span(&found, 1)));
  if (copied && found != probe_value(segment_->place().nonce, rank))
    return failed(rank, segment_->member(rank).probe, sizeof found, EPERM);
  return copied;
}

}  // namespace scela::channel::shm
