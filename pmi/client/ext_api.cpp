// The functions of pmi_ext.h.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "pmi/client/include/pmi_ext.h"
#include "pmi/client/library.h"

using scela::pmi::client::library;

namespace {
const scela::pmi::segment::Reader* reader() {
  const auto& connection = library().connection;
  return connection && connection->reader() ? &*connection->reader() : nullptr;
}
}  // namespace

extern "C" {

int SCELA_PMI_Has_segment(void) {
  return reader() != nullptr ? 1 : 0;
}

int SCELA_PMI_Rank_failed(int rank) {
  const auto* const segment = reader();
  return segment != nullptr && rank >= 0 && segment->dead(static_cast<std::uint64_t>(rank)) ? 1 : 0;
}

unsigned SCELA_PMI_Failures(void) {
  const auto* const segment = reader();
  return segment != nullptr ? static_cast<unsigned>(segment->generation()) : 0;
}

int SCELA_PMI_Wait_failure(unsigned seen, int timeout_ms) {
  const auto* const segment = reader();
  if (segment == nullptr) return -1;
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += timeout_ms / 1000;
  until.tv_nsec += timeout_ms % 1000 * 1'000'000L;
  if (until.tv_nsec >= 1'000'000'000) {
    ++until.tv_sec;
    until.tv_nsec -= 1'000'000'000;
  }
  while (SCELA_PMI_Failures() == seen) {
    // The bitset form takes a moment, so that an interrupted wait does not begin anew.
    const long woken =
        ::syscall(SYS_futex, segment->futex(), FUTEX_WAIT_BITSET, seen,
                  timeout_ms < 0 ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (woken == -1 && errno == ETIMEDOUT) return SCELA_PMI_Failures() != seen ? 1 : 0;
  }
  return 1;
}

}  // extern "C"
