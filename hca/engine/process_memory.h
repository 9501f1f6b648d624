// The memory of a process that is attached: bytes in and out of it, by process_vm_readv and writev.
//
// The kernel takes a process's number, which another may have by now; so the descriptor of the
// process is asked first whether it is still there. That number is its main thread's, which may end
// before the others: then one of those is named, as long as it is a thread of that process. Where
// the kernel refuses (a container without that call, ptrace_scope 3), every transfer is false, and
// the process is given orders (bounce.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "common/os/fd.h"

namespace scela::hca {

class ProcessMemory {
 public:
  // Of the process at the other end of a connected socket of this machine.
  static ProcessMemory of_peer(int socket, pid_t pid);
  // `process`: its pidfd, by which it is known to be the same one still.
  ProcessMemory(pid_t pid, Fd process) : pid_(pid), process_(std::move(process)) {}

  // False: not all of it is there; what was transferred until then stays.
  bool read(std::uint64_t address, std::span<std::byte> to) const;
  bool write(std::uint64_t address, std::span<const std::byte> from) const;
  // Through the buffer, piece by piece; both may be the same process.
  static bool copy(const ProcessMemory& from, std::uint64_t from_address, const ProcessMemory& to,
                   std::uint64_t to_address, std::uint64_t bytes, std::span<std::byte> buffer);

  // Whether the kernel lets this process at that memory: it reads the number there, and writes its
  // complement after it.
  bool is_reached(std::uint64_t address, std::uint64_t number) const;

  bool is_there() const;
  pid_t pid() const { return pid_; }
  // Readable once the process has ended. Invalid: the kernel gave none, and nothing is transferred.
  const Fd& descriptor() const { return process_; }

 private:
  // call(thread), with one that has memory; as process_vm_readv, -1 and errno if there is none.
  template <class Call>
  ssize_t by_a_thread(Call call) const;
  bool read_some(std::uint64_t address, std::span<std::byte> to) const;
  bool write_some(std::uint64_t address, std::span<const std::byte> from) const;

  pid_t pid_ = 0;
  mutable pid_t thread_ = pid_;
  Fd process_;
};

}  // namespace scela::hca
