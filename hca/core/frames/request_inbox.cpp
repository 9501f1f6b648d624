#include "hca/core/frames/request_inbox.h"

#include <cstring>

namespace scela::hca {
namespace {

// The limit of frames for a queue pair. An honest peer has fewer on its way (its window, and
// kMaxAhead).
constexpr std::size_t kMaxInboxFrames = 256;

}  // namespace

void RequestInbox::set_round(Qp& qp, std::uint32_t round) {
  if (!qp.reliable() || round == qp.peer_round) return;
  drop_waiting(qp);
  qp.peer_round = round;
}

bool RequestInbox::is_full(const Qp& qp, bool waits) const {
  if (!waits) return !kept_.has_room(qp.owner, RoomFor::requests);
  return qp.inbox.size() >= kMaxInboxFrames || kept_.would_exceed(qp.owner, RoomFor::requests, 1);
}

void RequestInbox::keep(Qp& qp, std::uint32_t node, std::span<const std::byte> frame) {
  qp.inbox.push_back({node, CountedBytes(kept_.counter(qp.owner, RoomFor::requests), frame)});
}

void RequestInbox::note_dropped(Qp& qp) {
  if (!qp.reliable()) return;
  qp.turned_away = true;
  if (qp.answering.empty() && qp.inbox.empty()) scheduler_.schedule(qp);
}

void RequestInbox::request_again(Qp& qp) {
  if (!kept_.has_room(qp.owner, RoomFor::requests)) {
    kept_.wait_for_room(qp.owner, RoomFor::requests, qp.handle);
    return;
  }
  qp.turned_away = false;
  frames_.send_control(FrameKind::again, qp, qp.expected_psn, qp.peer_round, qp.progress);
}

void RequestInbox::drop_waiting(Qp& qp) {
  const bool serves = qp.answering.empty() && qp.serving.held && !qp.inbox.empty();
  qp.answering.clear();
  qp.inbox.erase(qp.inbox.begin() + (serves ? 1 : 0), qp.inbox.end());
  qp.turned_away = false;
  if (serves) return;
  steps_.abandon(qp.serving);
  qp.serving.held = false;
}

void RequestInbox::drop_all(Qp& qp) {
  Incoming oldest;
  oldest.node = qp.node;
  oldest.source_qpn = qp.attributes.dest_qpn;
  oldest.round = qp.peer_round;
  oldest.psn = qp.expected_psn;
  bool waits = qp.turned_away;
  if (!qp.answering.empty()) {
    oldest.psn = qp.answering.front().psn;
    waits = true;
  } else {
    for (const Qp::Frame& frame : qp.inbox) {
      FrameHeader header;
      std::memcpy(&header, frame.bytes.bytes().data(), sizeof header);
      if (header.round != qp.peer_round) continue;
      oldest.psn = header.psn;
      waits = true;
      break;
    }
  }
  if (waits && qp.reliable()) frames_.send_answer(oldest, qp.handle, kSilent);
  qp.answering.clear();
  qp.inbox.clear();
  qp.turned_away = false;
  qp.waits_for_answer_room = false;
}

}  // namespace scela::hca
