#include "hca/engine/memory/sigbus_copy.h"

#include <ucontext.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <atomic>

namespace scela::hca {

namespace {

thread_local sigjmp_buf before_copy;
thread_local volatile std::sig_atomic_t is_copying = 0;

// A jump does not restore the signals that were blocked when SIGBUS came.
void end_copy(int signo, siginfo_t*, void* context) {
  if (is_copying != 0) {
    ::pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    ::siglongjmp(before_copy, 1);
  }
  std::signal(signo, SIG_DFL);
  std::raise(signo);
}

bool catch_faults() {
  struct sigaction caught {};
  caught.sa_sigaction = end_copy;
  caught.sa_flags = SA_SIGINFO | SA_NODEFER;  // a second SIGBUS is delivered at once
  ::sigemptyset(&caught.sa_mask);
  return ::sigaction(SIGBUS, &caught, nullptr) == 0;
}

// Stores like an atomic. The thread sanitizer's own atomic would keep its lock if the signal jumps
// out of it.
template <class Word>
[[gnu::no_sanitize_thread]] void store(std::byte* to, std::uint64_t bytes) {
  Word word{};
  std::memcpy(&word, &bytes, sizeof word);
  __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELEASE);
}

[[gnu::noinline]] void move(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto end = reinterpret_cast<std::uintptr_t>(to + bytes);
  const std::size_t last = bytes >= 8 && end % 8 == 0 ? 8 : bytes >= 4 && end % 4 == 0 ? 4 : 1;
  std::uint64_t word = 0;
  std::memcpy(&word, from + bytes - last, last);
  std::memmove(to, from, bytes - last);
  std::byte* const at = to + bytes - last;
  if (last == 8)
    store<std::uint64_t>(at, word);
  else if (last == 4)
    store<std::uint32_t>(at, word);
  else
    store<std::uint8_t>(at, word);
}

}  // namespace

bool copy_guarded(std::byte* to, const std::byte* from, std::size_t bytes) {
  static const bool is_caught = catch_faults();
  if (!is_caught) return false;
  if (bytes == 0) return true;
  if (::sigsetjmp(before_copy, 0) != 0) {
    is_copying = 0;
    return false;
  }
  is_copying = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  move(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  is_copying = 0;
  return true;
}

}  // namespace scela::hca
