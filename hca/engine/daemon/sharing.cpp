#include "hca/engine/daemon/sharing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string_view>
#include <utility>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/fd.h"
#include "common/os/futex.h"
#include "common/os/syscall.h"
#include "hca/core/model/copy_jobs.h"

namespace scela::hca {

namespace {

// To wake a process that sleeps costs as much as to copy this many bytes.
constexpr std::uint64_t kLeastToWake = 256 * 1024;
constexpr std::uint64_t kSmallPart = 32 * 1024;
constexpr std::uint64_t kLargePart = 128 * 1024;
// The engine itself moves these bytes, after all others have arrived.
constexpr std::uint64_t kLastBytes = 4096;

constexpr std::uint64_t kSpinNs = 30'000;    // longer than a part takes to move
constexpr std::uint64_t kSleepNs = 500'000;  // then the engine looks for the cause
constexpr std::uint64_t kPatienceNs = 1'000'000'000;
constexpr unsigned kMaxRefusals = 10;
// This is longer than any part takes: a later process has lost its processor meanwhile.
constexpr std::uint64_t kLateNs = 100'000;
constexpr unsigned kMaxLate = 12;

const std::uint32_t* word_of(const std::atomic<std::uint32_t>& word) {
  return reinterpret_cast<const std::uint32_t*>(&word);
}

inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns true if the thread is stopped or has ended. It is then in no system call, and begins none
// before it goes on.
bool is_stopped(pid_t process, std::uint32_t thread) {
  const Fd file(
      ::open(cat("/proc/", process, "/task/", thread, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT || errno == ESRCH;
  char text[512];
  const ssize_t got = retry([&] { return ::read(file.get(), text, sizeof text); });
  if (got <= 0) return got < 0 && errno == ESRCH;
  // The state follows the name, which may itself contain brackets.
  const std::string_view said(text, static_cast<std::size_t>(got));
  const std::size_t name = said.rfind(')');
  return name != std::string_view::npos && name + 2 < said.size() &&
         std::string_view("TtZXx").find(said[name + 2]) != std::string_view::npos;
}

}  // namespace

std::uint64_t Sharing::pid_space() {
  struct stat space {};
  return ::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

Sharing::Sharing(ProcessPage& page, std::uint64_t pid_space) : page_(&page) {
  page.board.pid_space = pid_space;
}

// Returns true if every part that the process has begun is over. Only then may a new one take its
// place.
bool Sharing::is_free() const {
  return std::all_of(std::begin(page_->board.jobs), std::end(page_->board.jobs),
                     [](const CopyJob& job) {
                       return job.state.load(std::memory_order_acquire) != CopyJobState::begun;
                     });
}

bool Sharing::polls() {
  sleeps_ = page_->waiters.load(std::memory_order_seq_cst) != 0;
  spins_ = page_->board.willing.exchange(0, std::memory_order_relaxed) != 0;
  return sleeps_ || spins_;
}

bool Sharing::offers(std::uint64_t bytes) {
  if (bytes < kLeastBytes || page_->board.pid_space == 0) return false;
  if (sleeps_ ? bytes < kLeastToWake : !spins_) return false;
  if (skips_ > 0) {
    --skips_;
    return false;
  }
  if (withdrawn_) withdrawn_ = !is_free();
  return !withdrawn_;
}

// Offers the parts. Returns how many there are.
unsigned Sharing::offer_parts(const Copy& what) {
  const std::uint64_t most = what.bytes - kLastBytes;
  // Both sides get some parts, but no part is so small that the system calls matter.
  part_bytes_ = std::clamp(std::bit_floor(what.bytes / 4), kSmallPart, kLargePart);
  unsigned count = 0;
  ++offers_;
  for (std::uint64_t at = 0; at < most && count < kCopyJobs; at += part_bytes_) {
    CopyJob& job = page_->board.jobs[count++];
    job.kind = what.kind;
    job.here = what.here + at;
    job.bytes = std::min(part_bytes_, most - at);
    job.there.address = what.there + at;
    job.there.bytes.store(job.bytes, std::memory_order_relaxed);
    job.offer = offers_;
    job.peer = what.peer;
    job.pid = static_cast<std::uint32_t>(what.other.pid());
    offer(job);
  }
  page_->board.open.store(1, std::memory_order_seq_cst);
  return count;
}

void Sharing::wake() {
  if (page_->waiters.load(std::memory_order_seq_cst) == 0) return;
  page_->doorbell.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(word_of(page_->doorbell));
}

bool Sharing::move(const Copy& what, std::uint64_t from, std::uint64_t bytes,
                   std::span<std::byte> buffer) {
  const std::uint64_t here = what.here + from, there = what.there + from;
  return what.kind == CopyJobKind::push
             ? ProcessMemory::copy(what.own, here, what.other, there, bytes, buffer)
             : ProcessMemory::copy(what.other, there, what.own, here, bytes, buffer);
}

// Waits for a part that the process has begun. Returns true if it is over. Returns false if it was
// withdrawn: the process can no longer move it, and the engine must.
bool Sharing::wait_for(CopyJob& job, pid_t process) {
  CopyJobBoard& board = page_->board;
  const std::uint64_t begun = monotonic_ns();
  for (std::uint64_t waited = 0; waited < kSpinNs; waited = monotonic_ns() - begun) {
    if (job.state.load(std::memory_order_acquire) != CopyJobState::begun) return true;
    pause_processor();
  }
  for (;;) {
    const bool over = await(board, job, [&](std::uint32_t seen) {
      timespec until{};
      const std::uint64_t then = monotonic_ns() + kSleepNs;
      until.tv_sec = static_cast<time_t>(then / 1'000'000'000);
      until.tv_nsec = static_cast<long>(then % 1'000'000'000);
      futex_wait(word_of(board.finished), seen, &until);
    });
    const std::uint64_t waited = monotonic_ns() - begun;
    came_late_ = came_late_ || waited > kLateNs;
    if (over) return true;
    if (waited < kSleepNs) continue;
    const auto outside = [&] {
      return is_stopped(process, board.thread.load(std::memory_order_acquire)) ||
             waited > kPatienceNs;
    };
    if (!withdraw(job, outside)) continue;
    withdrawn_ = true;
    return false;
  }
}

// Adjusts how often parts are offered. A process that refuses everything is asked less and less
// often.
void Sharing::judge(unsigned taken, unsigned done) {
  // If other threads want the processors, a part may take as long as their time slices.
  if (std::exchange(came_late_, false)) {
    late_ = std::min(late_ + 6, kMaxLate);
    skips_ = 1ULL << late_;
  } else if (taken > 0 && late_ > 0) {
    --late_;
  }
  if (done > 0) refusals_ = 0;
  if (taken == 0 || done > 0) return;
  // The first refusal does not count: the two processes had not met (hca/library/link/helper.h).
  refusals_ = std::min(refusals_ + 1, kMaxRefusals);
  skips_ = std::max<std::uint64_t>(skips_, (1ULL << refusals_) - 2);
}

bool Sharing::copy(const Copy& what, std::span<std::byte> buffer) {
  // This is checked before each transfer. The process opens its own pidfd of that number when it is
  // offered the first part, and uses it from the next offer on.
  if (!what.other.is_there()) return false;
  const unsigned count = offer_parts(what);
  wake();
  CopyJobBoard& board = page_->board;
  bool well = true;
  unsigned mine = 0, done = 0, taken = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (!take_back(board.jobs[i])) continue;
    mine |= 1u << i;
    const std::uint64_t from = i * part_bytes_;
    // After a failure nothing more is moved; the parts are only taken back.
    if (well)
      well = move(what, from, std::min(part_bytes_, what.bytes - kLastBytes - from), buffer);
  }
  board.open.store(0, std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) {
    if ((mine >> i & 1u) != 0) continue;
    ++taken;
    CopyJob& job = board.jobs[i];
    if (wait_for(job, what.own.pid()) &&
        job.state.load(std::memory_order_acquire) == CopyJobState::done) {
      ++done;
      continue;
    }
    const std::uint64_t from = i * part_bytes_;
    if (well)
      well = move(what, from, std::min(part_bytes_, what.bytes - kLastBytes - from), buffer);
  }
  judge(taken, done);
  const std::uint64_t offered = std::min(count * part_bytes_, what.bytes - kLastBytes);
  return well && move(what, offered, what.bytes - offered, buffer);
}

}  // namespace scela::hca
