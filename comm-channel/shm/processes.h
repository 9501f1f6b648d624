// The processes of a node's ranks: whether they have ended, and copies out of their memory.
//
// A process is known by its descriptor, which is asked for when somebody first wonders, and which
// is checked against when the process was started: so another one of its number is not taken for
// it. One thread at a time.
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

// When a process was started, in ticks since boot; 0: it is not there, or /proc does not say.
std::uint64_t start_of(pid_t pid);

struct Copied {
  enum class Why : unsigned char {
    done,
    ended,    // the process has, or is about to: it has no memory any more
    fault,    // not all of it is memory that can be read there, or written here
    refused,  // by the kernel: the message must come in pieces
  };
  Why why = Why::done;
  Error error;  // in words, unless done

  explicit operator bool() const { return why == Why::done; }
};

class Processes {
 public:
  Processes(std::shared_ptr<const Segment> segment, std::uint32_t self);

  // Asks the system. Of a rank that has not joined: no.
  bool has_ended(std::uint32_t rank);
  // All who have, and of whom that was not known.
  std::vector<std::uint32_t> newly_ended();

  // Single copy, by process_vm_readv.
  Copied read(std::uint32_t rank, std::uint64_t address, std::span<std::byte> to);
  // Whether that works: reads what the rank has put at its Member::probe.
  Copied probe(std::uint32_t rank);
  static std::uint64_t probe_value(std::uint64_t nonce, std::uint32_t rank) {
    return nonce ^ (rank + 1);
  }

 private:
  enum class Known : unsigned char { nothing, by_descriptor, by_number, ended };
  struct Process {
    Known known = Known::nothing;
    Fd fd;
    std::uint64_t there_at = 0;  // when it was seen to be there (monotonic_ns)
  };

  Known look_at(std::uint32_t rank);
  bool is_still_there(std::uint32_t rank);
  bool has_memory(std::uint32_t rank) const;
  Copied failed(std::uint32_t rank, std::uint64_t address, std::size_t left, int number);

  std::shared_ptr<const Segment> segment_;
  std::uint32_t self_;
  std::vector<Process> processes_;
};

}  // namespace scela::channel::shm
