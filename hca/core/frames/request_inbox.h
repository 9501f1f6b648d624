// Frames with requests of other nodes that were not executed yet (Qp::inbox). They wait behind a
// read that is being answered, or for a process that moves its bytes itself
// (hca/core/model/transfer.h) and may be stopped.
//
// A frame of a reliable queue pair is never dropped silently, since its sender has no timer for
// frames that have arrived. The frames are limited for each queue pair and for each process. Frames
// beyond the limits are turned away: they are dropped, and requested again once there is room.
//
// RemoteResponder keeps the frames here and executes them; a queue pair that ends drops them. The
// interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <span>

#include "hca/core/frames/frame_sender.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/kept_bytes.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Fills and empties the inboxes of queue pairs, within their limits.
class RequestInbox {
 public:
  // All references must live as long as this object.
  RequestInbox(Scheduler& scheduler, KeptBytes& kept, TransferSteps& steps, FrameSender& frames)
      : scheduler_(scheduler), kept_(kept), steps_(steps), frames_(frames) {}

  // Notes the round of a frame that has come; a requester begins a new round when it sends again.
  // If the round of a reliable queue pair has changed, the frames that wait are dropped, because
  // the requester sends them again.
  void set_round(Qp& qp, std::uint32_t round);
  // Returns true if no more frames may be kept for the queue pair. `waits` says that other frames,
  // or a read, of the queue pair wait already; then more bytes of the process's limit may be used
  // than for a first frame, so that what was begun can go on.
  bool is_full(const Qp& qp, bool waits) const;
  // Appends a copy of a frame from `node` to Qp::inbox.
  void keep(Qp& qp, std::uint32_t node, std::span<const std::byte> frame);
  // Called when a frame is dropped because there is no room for it. A message of an unreliable
  // queue pair is lost; a reliable queue pair requests it again later (request_again()).
  void note_dropped(Qp& qp);
  // Asks the peer to send again the frames that were turned away. If there is no room yet, the
  // queue pair runs again once there is. All frames before them must have been executed.
  void request_again(Qp& qp);

  // Drops the frames that wait and the reads that are being answered, because their requester sends
  // them again. A step that is held for the oldest frame goes on.
  void drop_waiting(Qp& qp);
  // Drops the frames that wait and the reads that are being answered, because the queue pair is
  // destroyed, reset or in error. If there are any, the peer of a reliable queue pair gets the
  // verdict `silent`: its requests count as unanswered.
  void drop_all(Qp& qp);

 private:
  Scheduler& scheduler_;
  KeptBytes& kept_;
  TransferSteps& steps_;
  FrameSender& frames_;
};

}  // namespace scela::hca
