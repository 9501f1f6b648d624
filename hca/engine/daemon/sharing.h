// Copies of long messages that the engine shares with a process (hca/core/model/copy_jobs.h). While
// the process polls in vain, it moves parts of them straight between its memory and another's.
// Meanwhile the engine moves other parts through its buffer. Each part is moved by the side that
// takes it first; a process that does not run takes none. Machine uses it, on the engine's thread.
//
// The process may write anything to its page. A process that takes a part and does not move it
// harms only itself, or a process that it could write to anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hca/core/model/host.h"
#include "hca/engine/memory/process_memory.h"

namespace scela::hca {

class Sharing {
 public:
  static constexpr std::uint64_t kLeastBytes = 64 * 1024;

  // `pid_space` is the PID namespace of the process numbers that the engine knows (pid_space()).
  Sharing(ProcessPage& page, std::uint64_t pid_space);

  // Returns true if the process has polled in vain, asleep or not, since the last call.
  bool polls();
  // Returns true if the process would take a part of a copy of this size now. polls() is called
  // first.
  bool offers(std::uint64_t bytes);

  // `own` is the memory of the process that shares the copy. It and `other` must stay while copy()
  // runs.
  struct Copy {
    CopyJobKind kind = CopyJobKind::push;  // into or out of the other's memory
    const ProcessMemory& own;
    const ProcessMemory& other;
    ProcessId peer = 0;       // the other process
    std::uint64_t here = 0;   // in the process's memory
    std::uint64_t there = 0;  // in the other's
    std::uint64_t bytes = 0;
  };
  // Copies as ProcessMemory::copy does. When it returns, no process moves any part any more. The
  // last bytes are written last, for readers that poll them to see that a message has come. The
  // engine uses the buffer for the parts that it moves.
  bool copy(const Copy& what, std::span<std::byte> buffer);

  // Returns the PID namespace of this process, or 0 if it is not known. Nothing can be shared then.
  static std::uint64_t pid_space();

 private:
  // Returns true if every part that the process has begun is over. Only then may parts be offered.
  bool is_free() const;
  // Offers all but the last bytes, as far as there are entries. Returns the number of parts.
  unsigned offer_parts(const Copy& what);
  // Wakes the process if it sleeps while it polls.
  void wake();
  // The engine itself moves `bytes` bytes, which begin `from` bytes into the copy. Returns false if
  // not all of that memory is mapped.
  bool move(const Copy& what, std::uint64_t from, std::uint64_t bytes, std::span<std::byte> buffer);
  // Waits for a part that the process has begun. Returns true if it is over, done or refused.
  // Returns false if it was withdrawn, and the engine must move it.
  bool wait_for(CopyJob& job, pid_t process);
  // Decides how many offers are left out from now on. Of this offer the process has taken `taken`
  // parts, and moved `done` of them.
  void judge(unsigned taken, unsigned done);

  ProcessPage* page_;
  bool sleeps_ = false;  // while it polls
  bool spins_ = false;
  std::uint64_t offers_ = 0;
  std::uint64_t part_bytes_ = 0;
  // The process has begun a part that was withdrawn, and has not said that it is over.
  bool withdrawn_ = false;
  // Offers in a row in which every part that was taken was refused.
  unsigned refusals_ = 0;
  bool came_late_ = false;  // a part of this offer came late
  // Grows with each offer that was late, and shrinks with each that was not.
  unsigned late_ = 0;
  std::uint64_t skips_ = 0;  // offers that are left out from now on
};

}  // namespace scela::hca
