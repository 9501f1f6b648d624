#include "hca/core/frames/frame_sender.h"

#include <utility>

namespace scela::hca {

bool FrameSender::is_ready_for(std::uint32_t node, const Qp& qp) {
  if (nodes_.ready(node)) return true;
  waiting_[node].insert(qp.handle);
  return false;
}

void FrameSender::send_answer(const Incoming& incoming, std::uint32_t source_qpn,
                              const Verdict& verdict) {
  FrameHeader header;
  header.kind = FrameKind::answer;
  header.target_qpn = incoming.source_qpn;
  header.source_qpn = source_qpn;
  header.psn = incoming.psn;
  header.round = incoming.round;
  header.verdict = static_cast<std::uint32_t>(verdict.kind);
  header.status = verdict.status;
  header.rnr_timer = verdict.rnr_timer;
  header.compare_add = verdict.before;
  send(incoming.node, header, {});
}

void FrameSender::send_control(FrameKind kind, const Qp& qp, std::uint32_t psn, std::uint32_t round,
                               std::uint64_t offset) {
  FrameHeader header;
  header.kind = kind;
  header.target_qpn = qp.attributes.dest_qpn;
  header.source_qpn = qp.handle;
  header.psn = psn;
  header.round = round;
  header.total = header.offset = offset;
  send(qp.node, header, {});
}

void FrameSender::writable(std::uint32_t node) {
  const auto waiting = std::move(waiting_[node]);
  waiting_.erase(node);
  // Round robin: otherwise the first queue pairs would fill the connection each time.
  const auto next = waiting.upper_bound(last_sender_[node]);
  scheduler_.schedule_all(next, waiting.end());
  scheduler_.schedule_all(waiting.begin(), next);
}

void FrameSender::lost(std::uint32_t node) {
  const auto waiting = std::move(waiting_[node]);
  waiting_.erase(node);
  scheduler_.schedule_all(waiting);
}

}  // namespace scela::hca
