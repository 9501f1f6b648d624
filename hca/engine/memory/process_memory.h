// Moves bytes in and out of the memory of an attached process, by process_vm_readv and
// process_vm_writev. Machine and Sharing use it, on the engine's thread.
//
// The kernel takes a process number, which another process may have by now. So before each transfer
// the process's pidfd is asked whether the process still lives. The number is that of its main
// thread, which may end before the other threads. Then one of those is named, as long as it is a
// thread of that process.
//
// If the kernel refuses (a container without that call, ptrace_scope 3), every transfer returns
// false. The process then copies its bytes for the engine (hca/engine/io/bounce.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "common/os/fd.h"

namespace scela::hca {

// The memory of one process, by its process number and pidfd.
class ProcessMemory {
 public:
  // Returns the memory of the process `pid`, which is at the other end of the connected Unix
  // socket.
  static ProcessMemory of_peer(int socket, pid_t pid);
  // `process` is the pidfd that shows whether it is still the same process. Without a valid one
  // nothing is transferred.
  ProcessMemory(pid_t pid, Fd process) : pid_(pid), process_(std::move(process)) {}

  // Copy bytes from `address` of the process to `to`, or from `from` to `address`. They return true
  // if all bytes were moved. They return false if the range is not all mapped, the kernel refuses,
  // or the process has ended; bytes moved until then stay moved.
  bool read(std::uint64_t address, std::span<std::byte> to) const;
  bool write(std::uint64_t address, std::span<const std::byte> from) const;
  // Copies `bytes` bytes from one process to another, or within one, through the buffer, piece by
  // piece. Returns as read() does.
  static bool copy(const ProcessMemory& from, std::uint64_t from_address, const ProcessMemory& to,
                   std::uint64_t to_address, std::uint64_t bytes, std::span<std::byte> buffer);

  // Returns true if the kernel gives access to the process's memory. Reads 8 bytes at `address`,
  // which must equal `number`, and writes their complement behind them.
  bool is_reached(std::uint64_t address, std::uint64_t number) const;

  // Returns true if the process still lives. Returns false also if there is no pidfd.
  bool is_there() const;
  pid_t pid() const { return pid_; }
  // The pidfd, which is readable once the process has ended. If it is invalid, the kernel gave
  // none, and nothing is transferred.
  const Fd& descriptor() const { return process_; }

 private:
  // Calls call(thread) for a thread of the process that still has memory. Returns what
  // process_vm_readv would return: -1 and errno if there is none.
  template <class Call>
  ssize_t by_a_thread(Call call) const;
  // These work as read() and write() do, but do not check first that the process still lives.
  bool read_some(std::uint64_t address, std::span<std::byte> to) const;
  bool write_some(std::uint64_t address, std::span<const std::byte> from) const;

  pid_t pid_ = 0;
  // The thread that is named to the kernel.
  mutable pid_t thread_ = pid_;
  Fd process_;
};

}  // namespace scela::hca
