#include "hca/library/link/helper.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <new>
#include <utility>

#include "common/os/futex.h"
#include "hca/core/model/copy_jobs.h"

namespace scela::hca::library {

namespace {

constexpr std::size_t kMaxPeers = 64;

static_assert(sizeof(CopyJob::There) == sizeof(iovec) &&
              offsetof(CopyJob::There, address) == offsetof(iovec, iov_base) &&
              offsetof(CopyJob::There, bytes) == offsetof(iovec, iov_len));

bool is_there(const Fd& process) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), 0, nullptr, 0) == 0;
}

}  // namespace

void Helper::begin(ProcessPage& page) {
  // In another PID namespace the engine's process numbers belong to other processes.
  struct stat space {};
  if (page.board.pid_space == 0 || ::stat("/proc/self/ns/pid", &space) != 0 ||
      space.st_ino != page.board.pid_space)
    return;
  process_ = ::getpid();
  page_ = &page;
}

bool Helper::take_one() {
  if (::getpid() != process_ || busy_.exchange(true, std::memory_order_acquire)) return false;
  const int error = errno;
  CopyJobBoard& board = page_->board;
  static thread_local const auto thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  board.thread.store(thread, std::memory_order_seq_cst);
  bool took = false;
  for (CopyJob& job : board.jobs) {
    if (job.state.load(std::memory_order_relaxed) != CopyJobState::offered || !hca::begin(job))
      continue;
    took = true;
    if (finish(board, job, move(job)))
      futex_wake(reinterpret_cast<const std::uint32_t*>(&board.finished));
    break;
  }
  errno = error;
  busy_.store(false, std::memory_order_release);
  return took;
}

bool Helper::move(const CopyJob& job) {
  const Fd* const other = known(job);
  if (other == nullptr || !is_there(*other)) return false;
  const iovec here{reinterpret_cast<void*>(job.here), job.bytes};  // NOLINT: the program's
  // The kernel must read the copy job itself: until it has, the engine may take the bytes back
  // (hca/core/model/copy_jobs.h).
  const auto* const there = reinterpret_cast<const iovec*>(&job.there);
  const auto pid = static_cast<pid_t>(job.pid);
  const ssize_t moved = job.kind == CopyJobKind::push
                            ? ::process_vm_writev(pid, &here, 1, there, 1, 0)
                            : ::process_vm_readv(pid, &here, 1, there, 1, 0);
  return moved == static_cast<ssize_t>(job.bytes);
}

// Returns null if the two processes meet only now.
const Fd* Helper::known(const CopyJob& job) {
  const auto found = peers_.find(job.peer);
  if (found != peers_.end())
    return found->second.met == job.offer ? nullptr : &found->second.process;
  try {
    if (peers_.size() >= kMaxPeers) peers_.clear();
    Fd process(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(job.pid), 0)));
    if (process) peers_.emplace(job.peer, Peer{std::move(process), job.offer});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return nullptr;
}

}  // namespace scela::hca::library
