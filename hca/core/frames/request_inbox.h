// Frames with requests of other nodes that have not been executed yet. They wait behind a read that
// is being answered, or for a process that moves its bytes itself (hca/core/model/transfer.h) and
// may be stopped.
//
// A frame of a reliable queue pair is never dropped silently, since its sender has no timer for
// frames that have arrived. The frames are limited for each queue pair and for each process. Frames
// beyond the limits are turned away, and requested again once there is room.
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

class RequestInbox {
 public:
  // All references must live as long as this object.
  RequestInbox(Scheduler& scheduler, KeptBytes& kept, TransferSteps& steps, FrameSender& frames)
      : scheduler_(scheduler), kept_(kept), steps_(steps), frames_(frames) {}

  // A frame of a new round of a reliable requester: those before it are dropped, because the
  // requester sends them again.
  void set_round(Qp& qp, std::uint32_t round);
  // Returns whether no more frames may be kept. `waits` says that other frames of the queue pair
  // wait already.
  bool is_full(const Qp& qp, bool waits) const;
  // Keeps a frame in Qp::inbox.
  void keep(Qp& qp, std::uint32_t node, std::span<const std::byte> frame);
  // Drops a frame for which there is no room. Unreliable messages are lost; a reliable queue pair
  // requests them again later.
  void turn_away(Qp& qp);
  // Requests the frames that were turned away, or waits for room. All frames before them must have
  // been executed.
  void request_again(Qp& qp);

  // Drops the frames that wait, because their requester sends them again. A step that is held for
  // the oldest of them goes on; a peer that repeats it gets no answer.
  void drop_waiting(Qp& qp);
  // Drops the frames that wait because the queue pair is destroyed, reset or in error. If there are
  // any, the peer of a reliable queue pair gets the verdict `silent`.
  void drop_all(Qp& qp);

 private:
  Scheduler& scheduler_;
  KeptBytes& kept_;
  TransferSteps& steps_;
  FrameSender& frames_;
};

}  // namespace scela::hca
