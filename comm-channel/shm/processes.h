// The processes of a node's ranks: whether they have ended, and copies out of their memory.
// NodeLink uses it.
//
// A process is known by its descriptor (pidfd), which is opened at the first question about it. It
// is checked against the time at which the process was started. So another process with the same
// number is not taken for it. One thread at a time may call it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm-channel/shm/segment.h"
#include "common/os/fd.h"

namespace scela::channel::shm {

// Returns when a process was started, in ticks since boot; 0 if there is none or /proc does not
// say.
std::uint64_t start_of(pid_t pid);

// The result of a copy; true if all bytes were copied.
struct Copied {
  enum class Why : unsigned char {
    done,     // all bytes were copied
    ended,    // it has no memory any more
    fault,    // not readable there, or writable here
    refused,  // by the kernel: pieces are needed
  };
  Why why = Why::done;
  Error error;  // in words, unless done

  explicit operator bool() const { return why == Why::done; }
};

class Processes {
 public:
  Processes(std::shared_ptr<const Segment> segment, std::uint32_t self);

  // Asks the system whether the process of the rank has ended. Returns false if it is there, and
  // for a rank that has not joined.
  bool has_ended(std::uint32_t rank);
  // Asks about all other ranks. Returns those that have ended and are not marked so in the segment.
  std::vector<std::uint32_t> newly_ended();

  // Copies `to.size()` bytes from an address of the rank's process, by process_vm_readv.
  Copied read(std::uint32_t rank, std::uint64_t address, std::span<std::byte> to);
  // Checks whether that works: reads what the rank has put at its Member::probe.
  Copied probe(std::uint32_t rank);
  // Returns the value at Member::probe of the rank; `nonce` is that of the segment's Place.
  static std::uint64_t probe_value(std::uint64_t nonce, std::uint32_t rank) {
    return nonce ^ (rank + 1);
  }

 private:
  // The way in which a process is known: not looked up yet, by its pidfd, by its number only (no
  // pidfd is to be had), or as one that has ended.
  enum class Known : unsigned char { nothing, by_descriptor, by_number, ended };
  struct Process {
    Known known = Known::nothing;
    Fd fd;
    std::uint64_t there_at = 0;  // last seen there (monotonic_ns)
  };

  // Looks the process up at the first call. Returns `nothing` if the rank has not joined.
  Known look_at(std::uint32_t rank);
  // Returns false if the process has ended. A true result may be out of date.
  bool is_still_there(std::uint32_t rank);
  // Returns whether the process still has the memory with which it joined.
  bool has_memory(std::uint32_t rank) const;
  // Returns the reason why a copy of `left` bytes failed; `number` is the errno value.
  Copied failed(std::uint32_t rank, std::uint64_t address, std::size_t left, int number);

  std::shared_ptr<const Segment> segment_;
  std::uint32_t self_;
  std::vector<Process> processes_;
};

}  // namespace scela::channel::shm
