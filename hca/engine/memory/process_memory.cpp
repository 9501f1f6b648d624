#include "hca/engine/memory/process_memory.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "common/core/text.h"

namespace scela::hca {

namespace {

#ifndef SO_PEERPIDFD
constexpr int kPeerPidfd = 77;  // since Linux 6.5
#else
constexpr int kPeerPidfd = SO_PEERPIDFD;
#endif

Fd pidfd_of_peer(int socket, pid_t pid) {
  int made = -1;
  socklen_t size = sizeof made;
  if (::getsockopt(socket, SOL_SOCKET, kPeerPidfd, &made, &size) == 0 && made >= 0) return Fd(made);
  return pid > 0 ? Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) : Fd();
}

bool is_thread_of(pid_t process, pid_t thread) {
  return ::syscall(SYS_tgkill, process, thread, 0) == 0 || errno == EPERM;
}

// Returns the threads of the process. The list is empty if the process has gone or is not visible.
std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator at(cat("/proc/", process, "/task"), error), end;
       !error && at != end; at.increment(error))
    threads.push_back(static_cast<pid_t>(std::atoi(at->path().filename().c_str())));
  return threads;
}

void* at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT: an address of the other process
}

}  // namespace

ProcessMemory ProcessMemory::of_peer(int socket, pid_t pid) {
  return {pid, pidfd_of_peer(socket, pid)};
}

bool ProcessMemory::is_there() const {
  if (!process_) return false;
  if (::syscall(SYS_pidfd_send_signal, process_.get(), 0, nullptr, 0) == 0) return true;
  if (errno == ESRCH) return false;
  pollfd ended{process_.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

template <class Call>
ssize_t ProcessMemory::by_a_thread(Call call) const {
  ssize_t done = -1;
  if (thread_ == pid_ || is_thread_of(pid_, thread_)) {
    done = call(thread_);
    if (done >= 0 || errno != ESRCH) return done;
  }
  for (const pid_t thread : threads_of(pid_)) {
    if (thread == thread_ || !is_there() || !is_thread_of(pid_, thread)) continue;
    done = call(thread);
    if (done < 0 && errno == ESRCH) continue;
    thread_ = thread;
    return done;
  }
  errno = ESRCH;
  return -1;
}

bool ProcessMemory::read_some(std::uint64_t address, std::span<std::byte> to) const {
  while (!to.empty()) {
    const iovec here{to.data(), to.size()};
    const iovec there{at(address), to.size()};
    const ssize_t got = by_a_thread(
        [&](pid_t thread) { return ::process_vm_readv(thread, &here, 1, &there, 1, 0); });
    if (got <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(got));
    address += static_cast<std::uint64_t>(got);
  }
  return true;
}

bool ProcessMemory::write_some(std::uint64_t address, std::span<const std::byte> from) const {
  while (!from.empty()) {
    const iovec here{const_cast<std::byte*>(from.data()), from.size()};
    const iovec there{at(address), from.size()};
    const ssize_t put = by_a_thread(
        [&](pid_t thread) { return ::process_vm_writev(thread, &here, 1, &there, 1, 0); });
    if (put <= 0) return false;
    from = from.subspan(static_cast<std::size_t>(put));
    address += static_cast<std::uint64_t>(put);
  }
  return true;
}

bool ProcessMemory::is_reached(std::uint64_t address, std::uint64_t number) const {
  std::uint64_t there = 0;
  const std::uint64_t complement = ~number;
  return read(address, std::as_writable_bytes(std::span(&there, 1))) && there == number &&
         write(address + sizeof there, std::as_bytes(std::span(&complement, 1)));
}

bool ProcessMemory::read(std::uint64_t address, std::span<std::byte> to) const {
  return to.empty() || (is_there() && read_some(address, to));
}

bool ProcessMemory::write(std::uint64_t address, std::span<const std::byte> from) const {
  return from.empty() || (is_there() && write_some(address, from));
}

bool ProcessMemory::copy(const ProcessMemory& from, std::uint64_t from_address,
                         const ProcessMemory& to, std::uint64_t to_address, std::uint64_t bytes,
                         std::span<std::byte> buffer) {
  while (bytes > 0) {
    const auto piece = buffer.first(std::min<std::uint64_t>(bytes, buffer.size()));
    if (!from.read(from_address, piece) || !to.write(to_address, piece)) return false;
    from_address += piece.size();
    to_address += piece.size();
    bytes -= piece.size();
  }
  return true;
}

}  // namespace scela::hca
