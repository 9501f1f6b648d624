#include "hca/core/queues/request_trace.h"

#include <algorithm>
#include <cstring>

namespace scela::hca {

void RequestTrace::report_new(Qp& qp) {
  if (!qp.send.head) return;
  const std::uint64_t end = qp.send.end();
  for (qp.seen = std::max(qp.seen, qp.send.next); qp.seen < end; ++qp.seen) {
    SendRequest request;
    std::memcpy(&request, qp.send.entry(qp.seen), sizeof request);
    sink_->posted({qp.owner, qp.handle, qp.type, request.opcode, request.wr_id, 0});
  }
}

}  // namespace scela::hca
