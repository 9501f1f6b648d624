// The functions of pmi/client/include/pmi_ext.h, which only read the node's segment.
#include "common/os/futex.h"
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
  const timespec until = scela::deadline_in_ms(timeout_ms < 0 ? 0 : timeout_ms);
  while (SCELA_PMI_Failures() == seen) {
    if (!scela::futex_wait(segment->futex(), seen, timeout_ms < 0 ? nullptr : &until)) {
      return SCELA_PMI_Failures() != seen ? 1 : 0;
    }
  }
  return 1;
}

}  // extern "C"
