// Sends datagrams: to one queue pair, or to all members of a group.
//
// The Requester calls it for UD queue pairs. Datagrams may be lost, doubled or late on purpose
// (Faults). The interpreter's one thread uses it.
#pragma once

#include "hca/core/frames/frame_sender.h"
#include "hca/core/frames/late_frames.h"
#include "hca/core/frames/part_sender.h"
#include "hca/core/interp/datagram_receiver.h"
#include "hca/core/model/host.h"
#include "hca/core/model/local_ports.h"
#include "hca/core/model/multicast_groups.h"
#include "hca/core/queues/fault_injector.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/memory_transfers.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Sends the datagrams of UD queue pairs, to this node or to others.
class DatagramSender {
 public:
  // All references must live as long as the sender.
  DatagramSender(OtherNodes& nodes, const LocalPorts& ports, const MulticastGroups& groups,
                 const Scheduler& scheduler, FaultInjector& faults, const LateFrames& late,
                 TransferSteps& steps, MemoryTransfers& memory, FrameSender& frames,
                 PartSender& parts, DatagramReceiver& receiver)
      : nodes_(nodes),
        ports_(ports),
        groups_(groups),
        scheduler_(scheduler),
        faults_(faults),
        late_(late),
        steps_(steps),
        memory_(memory),
        frames_(frames),
        parts_(parts),
        receiver_(receiver) {}

  // Sends a datagram as often as the faults require. Returns `sent`, `later` or `no_memory`. If the
  // datagram has put its own sender in the error state, `out` is gone, and the result is `later`.
  SendResult send(Qp& qp, Outgoing& out);

 private:
  // Draws how often the datagram is sent (Outgoing::times), and whether it is late. One that is too
  // long is not sent.
  void draw_faults(Outgoing& out);
  // Reads the payload into Outgoing::data if a process's memory cannot be accessed at once. Returns
  // `sent` if it is there, `later` if the step is held, or `no_memory`.
  SendResult gather(Qp& qp, Outgoing& out);
  // These send the datagram once. send_once() calls send_to_group() if the destination is a group.
  // It calls send_late() for a datagram that is late on purpose, which is kept until it is due.
  // They return as send() does, or `no_connection`.
  SendResult send_once(Qp& qp, Outgoing& out);
  SendResult send_to_group(Qp& qp, Outgoing& out);
  SendResult send_late(Qp& qp, const Outgoing& out);

  OtherNodes& nodes_;
  const LocalPorts& ports_;
  const MulticastGroups& groups_;
  const Scheduler& scheduler_;
  FaultInjector& faults_;
  const LateFrames& late_;
  TransferSteps& steps_;
  MemoryTransfers& memory_;
  FrameSender& frames_;
  PartSender& parts_;
  DatagramReceiver& receiver_;
};

}  // namespace scela::hca
