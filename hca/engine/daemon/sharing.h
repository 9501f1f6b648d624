// Copies of long messages that the engine shares with a process (hca/core/model/copy_jobs.h). The
// engine offers parts of the message on the process's page. While the process polls in vain, it
// takes parts and moves them straight between its memory and another's. Meanwhile the engine moves
// other parts through its buffer. Each part is moved by the side that takes it first; a process
// that does not run takes none. Machine uses it, on the engine's thread.
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

// The offers to one process, and how well it has used them.
class Sharing {
 public:
  // The shortest message, in bytes, that is shared.
  static constexpr std::uint64_t kLeastBytes = 64 * 1024;

  // `page` is that of the process. `pid_space` is the PID namespace of the process numbers that the
  // engine knows (pid_space()); 0 means that nothing is shared.
  Sharing(ProcessPage& page, std::uint64_t pid_space);

  // Returns true if the process has polled in vain, asleep or not, since the last call.
  bool polls();
  // Returns true if a copy of `bytes` bytes should be shared with the process now. polls() is
  // called first. A process that was late or refused parts is left out more and more often.
  bool offers(std::uint64_t bytes);

  // A copy between the memory of the process that shares it (`own`) and of another (`other`). Both
  // must stay while copy() runs.
  struct Copy {
    CopyJobKind kind = CopyJobKind::push;  // push: from own to other
    const ProcessMemory& own;
    const ProcessMemory& other;
    ProcessId peer = 0;       // the other process
    std::uint64_t here = 0;   // address in `own`
    std::uint64_t there = 0;  // address in `other`
    std::uint64_t bytes = 0;
  };
  // Copies all bytes, and blocks until no process moves any part any more. Returns true if all were
  // moved, and false if some memory does not exist. The last bytes are written last, for readers
  // that poll them to see that a message has come. The engine uses the buffer for the parts that it
  // moves.
  bool copy(const Copy& what, std::span<std::byte> buffer);

  // Returns the PID namespace of this process (its inode number), or 0 if it is not known.
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
  // Waits for a part that the process, with this process number, has begun. Returns true if it is
  // over, done or refused. Returns false if it was withdrawn, and the engine must move it.
  bool wait_for(CopyJob& job, pid_t process);
  // Decides how many offers are left out from now on. Of the last offer the process has taken
  // `taken` parts, and moved `done` of them.
  void judge(unsigned taken, unsigned done);

  ProcessPage* page_;
  // The process's polls sleep, or spin, as polls() has seen.
  bool sleeps_ = false;
  bool spins_ = false;
  std::uint64_t offers_ = 0;      // made so far
  std::uint64_t part_bytes_ = 0;  // of this offer
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
