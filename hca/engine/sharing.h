// Copies of long messages that a process shares with the engine (hca/core/errands.h): while it
// polls in vain it moves parts of them straight between its memory and another's, at the same time
// as the engine moves others through its buffer. Who moves a part is whoever takes it first; a
// process that does not run takes none.
//
// The process may write what it likes to its page: who takes a part for itself and does not move it
// cheats itself, or whom it could write to anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hca/core/host.h"
#include "hca/engine/process_memory.h"

namespace scela::hca {

class Sharing {
 public:
  static constexpr std::uint64_t kLeastBytes = 64 * 1024;

  // `pid_space`: whose process numbers the engine knows (pid_space()).
  Sharing(ProcessPage& page, std::uint64_t pid_space);

  // Whether the process polls in vain, asleep or not, since this was asked last.
  bool polls();
  // Whether it would take something of so many bytes just now; after polls().
  bool offers(std::uint64_t bytes);

  struct Copy {
    ErrandKind kind = ErrandKind::push;  // into the other process's memory, or out of it
    const ProcessMemory& own;
    const ProcessMemory& other;
    ProcessId peer = 0;       // the other
    std::uint64_t here = 0;   // in the process's memory
    std::uint64_t there = 0;  // in the other's
    std::uint64_t bytes = 0;
  };
  // As ProcessMemory::copy. When it returns, nobody moves any of it any more. The last bytes are
  // written last, for who looks at them to see that a message has come.
  bool copy(const Copy& what, std::span<std::byte> buffer);

  // Of this process; 0: it is not known, and nothing can be shared.
  static std::uint64_t pid_space();

 private:
  bool is_free() const;
  unsigned offer_parts(const Copy& what);
  void wake();
  bool move(const Copy& what, std::uint64_t from, std::uint64_t bytes, std::span<std::byte> buffer);
  bool wait_for(Errand& errand, pid_t process);
  void judge(unsigned taken, unsigned done);

  ProcessPage* page_;
  bool sleeps_ = false;  // while it polls
  bool spins_ = false;
  std::uint64_t offers_ = 0;
  std::uint64_t part_bytes_ = 0;
  bool withdrawn_ = false;   // a part that the process has begun; it has not said that it is over
  unsigned refusals_ = 0;    // offers in a row of which all that was taken was refused
  bool came_late_ = false;   // a part of this offer
  unsigned late_ = 0;        // more with each offer that was, less with each that was not
  std::uint64_t skips_ = 0;  // so many offers are not made
};

}  // namespace scela::hca
