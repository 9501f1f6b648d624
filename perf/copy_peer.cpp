#include "perf/copy_peer.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/os/syscall.h"

namespace scela::perf {

namespace {

[[noreturn]] void end_with(const char* what) {
  std::fprintf(stderr, "scela-perf: %s: %s\n", what, errno_text(errno).c_str());
  std::exit(1);
}

// The number of checks between two yields, so that the end of the other process is noticed and
// other processes run now and then.
constexpr long kLooksPerYield = 1 << 16;

template <class Ready>
void wait_until(Ready ready) {
  for (long looks = 1; !ready(); ++looks)
    if (looks % kLooksPerYield == 0) ::sched_yield();
}

}  // namespace

// The memory that both processes share: the addresses of each side's messages, and how many the
// other has taken.
struct CopyPeer::Shared {
  struct alignas(128) Side {
    std::atomic<std::uint64_t> offered{0};
    alignas(128) std::atomic<std::uint64_t> taken{0};
    alignas(128) std::array<const void*, 4096> from{};
  };
  std::array<Side, 2> sides;
};

CopyPeer::CopyPeer(int window) : room_(4096) {
  if (static_cast<std::size_t>(window) >= room_) {
    errno = EINVAL;
    end_with("have so many messages under way");
  }
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) end_with("map shared memory");
  shared_ = new (memory) Shared;
  const pid_t first = ::getpid();
  const pid_t second = ::fork();
  if (second < 0) end_with("make a second process");
  rank_ = second == 0 ? 1 : 0;
  other_ = second == 0 ? first : second;
  if (second == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != first) std::_Exit(1);
  }
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

CopyPeer::~CopyPeer() {
  if (rank_ == 0) retry([&] { return ::waitpid(other_, nullptr, 0); });
  ::munmap(shared_, sizeof(Shared));
}

void CopyPeer::begin_send(int /*peer*/, const void* bytes, std::size_t /*n*/) {
  Shared::Side& own = shared_->sides[static_cast<std::size_t>(rank_)];
  const std::uint64_t number = own.offered.load(std::memory_order_relaxed);
  own.from[number % room_] = bytes;
  own.offered.store(number + 1, std::memory_order_release);
}

void CopyPeer::finish() {
  for (; !wanted_.empty(); wanted_.pop_front())
    copy(wanted_.front());
  const Shared::Side& own = shared_->sides[static_cast<std::size_t>(rank_)];
  wait_until([&] {
    return own.taken.load(std::memory_order_acquire) == own.offered.load(std::memory_order_relaxed);
  });
}

void CopyPeer::copy(const Wanted& wanted) {
  Shared::Side& from = shared_->sides[static_cast<std::size_t>(1 - rank_)];
  const std::uint64_t number = from.taken.load(std::memory_order_relaxed);
  wait_until([&] { return from.offered.load(std::memory_order_acquire) > number; });
  std::size_t done = 0;
  while (done < wanted.bytes) {
    const iovec here{static_cast<char*>(wanted.to) + done, wanted.bytes - done};
    const iovec there{const_cast<char*>(static_cast<const char*>(from.from[number % room_])) + done,
                      wanted.bytes - done};
    const ssize_t got = ::process_vm_readv(other_, &here, 1, &there, 1, 0);
    if (got <= 0) end_with("copy from the other process by process_vm_readv");
    done += static_cast<std::size_t>(got);
  }
  from.taken.store(number + 1, std::memory_order_release);
}

}  // namespace scela::perf
