// Frames of other nodes that have not been taken yet. They wait behind a read that is being
// answered, or for a process that moves its bytes itself (hca/core/model/transfer.h) and may be
// stopped.
//
// A frame of a reliable queue pair is never dropped silently, since its sender has no timer for
// frames that have arrived. The frames are limited for each queue pair and for each process. Frames
// beyond the limits are turned away, and requested again once there is room.
#include <algorithm>
#include <cstring>

#include "hca/core/model/state.h"

namespace scela::hca {
namespace {

// The limit of frames for a queue pair. An honest peer has fewer on its way (its window, and
// kMaxAhead).
constexpr std::size_t kMaxWaiting = 256;

// The limits in bytes for each process. If nothing else of its queue pair waits, a message is
// admitted up to twice kMaxRequests. So frames that wait for long do not keep out small messages
// of others.
constexpr std::uint64_t kMaxRequests = 32 * 1024 * 1024;
constexpr std::uint64_t kMaxFirst = 2 * kMaxRequests;
constexpr std::uint64_t kMaxAnswers = 64 * 1024 * 1024;
constexpr std::uint64_t kMaxMoves = 64 * 1024 * 1024;

bool has_room(const Keeping& keeping, RoomFor what) {
  switch (what) {
    case RoomFor::requests:
      return keeping.requests < kMaxFirst;
    case RoomFor::answers:
      return keeping.answers <= kMaxAnswers / 2;
    case RoomFor::moves:
      return keeping.moves <= kMaxMoves / 2;
  }
  return true;
}

}  // namespace

std::shared_ptr<Keeping> Engine::State::keeping(ProcessId process) const {
  const auto found = processes.find(process);
  return found == processes.end() ? of_nobody : found->second.keeping;
}

// Schedules the queue pairs that wait for room, if there is room now.
void Engine::State::let_in() {
  std::erase_if(waiting_for_room, [this](const auto& waiting) {
    const auto& [what, queue_pairs] = waiting;
    if (!has_room(*keeping(what.first), what.second)) return false;
    for (const std::uint32_t number : queue_pairs)
      if (Qp* const qp = qps.find(number)) schedule(*qp);
    return true;
  });
}

// Reserves room for the bytes that a step keeps of a move. Returns false if too many bytes are kept
// for that process.
bool Engine::State::make_room(Move& move, ProcessId process, std::uint64_t bytes) {
  const std::shared_ptr<Keeping> kept = keeping(process);
  if (kept->moves + bytes > kMaxMoves && !goes_first(process)) {
    step->crowded = true;
    waiting_for_room[{process, RoomFor::moves}].insert(step->qp);
    hold(process);
    return false;
  }
  move.kept = CountedBytes({kept, &kept->moves}, bytes);
  return true;
}

// Returns whether the step may exceed the limit. One step for each process may, until it is over;
// otherwise all steps might give up their bytes again and again.
bool Engine::State::goes_first(ProcessId process) {
  std::uint32_t& first = first_of[process];
  const Qp* const qp = qps.find(first);
  const bool moves = qp && (qp->sending.held || qp->arriving.held || qp->serving.held);
  if (!moves) first = step->qp;
  return first == step->qp;
}

// Takes a part of a message.
void Engine::State::take_request(std::uint32_t node, const FrameHeader& header,
                                 std::span<const std::byte> frame) {
  Qp* const qp = qps.find(header.target_qpn);
  const bool its = qp && (!qp->connected() ||
                          (qp->node == node && qp->attributes.dest_qpn == header.source_qpn));
  // The frame is not for that queue pair, whatever it is.
  if (!its) return receive_request(node, frame);
  if (qp->reliable() && header.round != qp->their_round) {
    drop_waiting(*qp);  // their requester sends them again
    qp->their_round = header.round;
  }
  if (qp->turned_away) return;
  bool waits = !qp->answering.empty() || !qp->inbox.empty();
  if ((waits || !distant.empty()) && is_full(*qp, waits)) return turn_away(*qp);
  if (!waits) {
    begin_step(*qp, qp->serving, {});
    receive_request(node, frame);
    waits = end_step(qp->serving);
  }
  if (!waits) return;
  const std::shared_ptr<Keeping> kept = keeping(qp->owner);
  qp->inbox.push_back({node, CountedBytes({kept, &kept->requests}, frame)});
}

// Returns whether no more frames may be kept. `waits` says that other frames of the queue pair wait
// already.
bool Engine::State::is_full(const Qp& qp, bool waits) const {
  const std::shared_ptr<Keeping> kept = keeping(qp.owner);
  if (!waits) return !has_room(*kept, RoomFor::requests);
  return qp.inbox.size() >= kMaxWaiting || kept->requests >= kMaxRequests;
}

// Takes an answer, or another frame from the peer to this requester. Returns false for a frame that
// no engine sends.
bool Engine::State::take_answer(Qp& qp, const FrameHeader& header,
                                std::span<const std::byte> frame) {
  if (header.kind == FrameKind::taken) {
    if (header.round != qp.round || qp.sent >= qp.window.size()) return true;
    Outgoing& out = qp.window[qp.sent];
    if (out.psn != header.psn || header.offset > out.sent) return true;
    out.taken = std::max(out.taken, header.offset);
    schedule(qp);
    return true;
  }
  if (header.kind == FrameKind::read_on) {
    if (qp.answering.empty()) return true;
    Answering& read = qp.answering.front();
    if (read.psn != header.psn || read.round != header.round || header.offset > read.sent)
      return true;
    read.taken = std::max(read.taken, header.offset);
    schedule(qp);
    return true;
  }
  if (!qp.arrived.empty()) {
    keep_answer(qp, frame);
    return true;
  }
  begin_step(qp, qp.arriving, {});
  const bool known = receive_answer(qp, header, frame);
  if (end_step(qp.arriving)) keep_answer(qp, frame);
  return known;
}

// Turns a frame away because there is no room. Unreliable messages are lost.
void Engine::State::turn_away(Qp& qp) {
  if (!qp.reliable()) return;
  qp.turned_away = true;
  if (qp.answering.empty() && qp.inbox.empty()) schedule(qp);
}

// Requests the frames that were turned away, once all frames before them have been taken.
void Engine::State::ask_again(Qp& qp) {
  if (!has_room(*keeping(qp.owner), RoomFor::requests)) {
    waiting_for_room[{qp.owner, RoomFor::requests}].insert(qp.handle);
    return;
  }
  qp.turned_away = false;
  say(FrameKind::again, qp, qp.expected_psn, qp.their_round, qp.progress);
}

// Sends the parts again that the responder has turned away.
void Engine::State::send_again(Qp& qp, const FrameHeader& header) {
  try_again(qp, 0, false);
  Outgoing& out = qp.window.front();
  const bool has_bytes = !out.done && out.request.opcode != Opcode::rdma_read &&
                         out.request.opcode != Opcode::compare_swap &&
                         out.request.opcode != Opcode::fetch_add;
  if (has_bytes && header.offset < out.bytes) out.sent = out.taken = header.offset;
}

// Returns false while there is no room for answers. The requester begins a new round once there is.
bool Engine::State::may_go_on(Qp& qp) {
  if (!qp.starved) return true;
  if (!has_room(*keeping(qp.owner), RoomFor::answers)) {
    waiting_for_room[{qp.owner, RoomFor::answers}].insert(qp.handle);
    return false;
  }
  qp.starved = false;
  return true;
}

// Keeps an answer until the owner's memory has taken those before it.
void Engine::State::keep_answer(Qp& qp, std::span<const std::byte> frame) {
  const std::shared_ptr<Keeping> kept = keeping(qp.owner);
  const bool too_many = qp.arrived.size() >= kMaxWaiting;
  if (!too_many && kept->answers < kMaxAnswers) {
    qp.arrived.emplace_back(std::shared_ptr<std::uint64_t>(kept, &kept->answers), frame);
    return;
  }
  forget(qp.arriving);
  qp.arrived.clear();
  if ((qp.state != QpState::rts && qp.state != QpState::sqd) || !qp.has_begun()) return;
  // No honest node sends that many answers; it counts as if the node had not answered.
  if (too_many) return answered(qp, {Verdict::Kind::silent, Status::success, 0, 0});
  try_again(qp, 0, false);
  qp.starved = true;
}

void Engine::State::run_arrived(Qp& qp) {
  while (!qp.arrived.empty()) {
    // The frame is out of the queue meanwhile: the queue is cleared if the answer ends the queue
    // pair.
    CountedBytes frame = std::move(qp.arrived.front());
    qp.arrived.pop_front();
    FrameHeader header;
    std::memcpy(&header, frame.bytes().data(), sizeof header);
    begin_step(qp, qp.arriving, {});
    receive_answer(qp, header, frame.bytes());
    if (!end_step(qp.arriving)) continue;
    qp.arrived.push_front(std::move(frame));
    return;
  }
}

// Serves the frames that waited behind reads, or for memory.
void Engine::State::run_inbox(Qp& qp) {
  while (qp.answering.empty() && !qp.inbox.empty()) {
    Qp::Frame frame = std::move(qp.inbox.front());
    qp.inbox.pop_front();
    begin_step(qp, qp.serving, {});
    receive_request(frame.node, frame.bytes.bytes());
    if (!end_step(qp.serving)) continue;
    qp.inbox.push_front(std::move(frame));
    return;
  }
  if (qp.turned_away && qp.answering.empty()) ask_again(qp);
}

// Drops waiting frames, because their sender sends them again. A request that is being executed is
// not interrupted; a peer that repeats it is told nothing.
void Engine::State::drop_waiting(Qp& qp) {
  const bool serves = qp.answering.empty() && qp.serving.held && !qp.inbox.empty();
  qp.answering.clear();
  qp.inbox.erase(qp.inbox.begin() + (serves ? 1 : 0), qp.inbox.end());
  qp.turned_away = false;
  if (serves) return;
  forget(qp.serving);
  qp.serving.held = false;
}

// The queue pair is destroyed, reset or in error. It tells its peer that the requests which still
// wait get no answer.
void Engine::State::drop_requests(Qp& qp) {
  Incoming oldest;
  oldest.node = qp.node;
  oldest.source_qpn = qp.attributes.dest_qpn;
  oldest.round = qp.their_round;
  oldest.psn = qp.expected_psn;
  bool waits = qp.turned_away;
  if (!qp.answering.empty()) {
    oldest.psn = qp.answering.front().psn;
    waits = true;
  } else {
    for (const Qp::Frame& frame : qp.inbox) {
      FrameHeader header;
      std::memcpy(&header, frame.bytes.bytes().data(), sizeof header);
      if (header.round != qp.their_round) continue;
      oldest.psn = header.psn;
      waits = true;
      break;
    }
  }
  if (waits && qp.reliable())
    answer(oldest, qp.handle, {Verdict::Kind::silent, Status::success, 0, 0});
  qp.answering.clear();
  qp.inbox.clear();
  qp.turned_away = false;
  qp.starved = false;
}

void Engine::State::lost(std::uint32_t node) {
  qps.each([&](Qp& qp) {
    if (qp.node != node) return;
    qp.arrived.clear();
    forget(qp.arriving);
    drop_waiting(qp);
    if ((qp.state == QpState::rts || qp.state == QpState::sqd) && qp.has_begun() && qp.reliable())
      answered(qp, {Verdict::Kind::silent, Status::success, 0, 0});
  });
  const auto waiting = std::move(blocked[node]);
  blocked.erase(node);
  for (const std::uint32_t number : waiting)
    if (Qp* qp = qps.find(number)) schedule(*qp);
}

}  // namespace scela::hca
