#include "hca/engine/guarded_copy.h"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <atomic>

namespace scela::hca {

namespace {

thread_local sigjmp_buf before_copy;
thread_local volatile std::sig_atomic_t is_copying = 0;

void end_copy(int signo) {
  if (is_copying != 0) ::siglongjmp(before_copy, 1);
  std::signal(signo, SIG_DFL);
  std::raise(signo);
}

bool catch_faults() {
  struct sigaction caught {};
  caught.sa_handler = end_copy;
  caught.sa_flags = SA_NODEFER;  // its mask is not put back by a jump
  ::sigemptyset(&caught.sa_mask);
  return ::sigaction(SIGBUS, &caught, nullptr) == 0;
}

template <class Word>
void store(std::byte* to, std::uint64_t bytes) {
  Word word{};
  std::memcpy(&word, &bytes, sizeof word);
  std::atomic_ref(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_release);
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
