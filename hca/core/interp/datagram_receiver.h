// Receives datagrams for the UD queue pairs of this node.
//
// Datagrams of this node come from DatagramSender, others from RemoteResponder. A transfer may hold
// the present step, the action of a queue pair that waits for a process's memory
// (hca/core/model/transfer.h). The interpreter's one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/interp/qp_shutdown.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/message_part.h"
#include "hca/core/queues/receive_queue.h"
#include "hca/core/transfer/payload_copier.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Delivers datagrams to receive requests.
class DatagramReceiver {
 public:
  // All references must live as long as the receiver.
  DatagramReceiver(const ObjectTables& objects, TransferSteps& steps, PayloadCopier& payloads,
                   ReceiveQueue& receives, QpShutdown& shutdown)
      : objects_(objects),
        steps_(steps),
        payloads_(payloads),
        receives_(receives),
        shutdown_(shutdown) {}

  // Delivers a datagram to the queue pair `qpn`, which need not exist. If anything is wrong with
  // the datagram or its receiver, it is lost without an error to its sender. Returns `later` if the
  // step is held: the caller must repeat the call. After any other result the datagram is over;
  // `refused` means that it was not delivered.
  Transfer receive(std::uint32_t qpn, const Incoming& incoming);

 private:
  // Copies the datagram to the request's buffers (`pieces`), kGrhBytes behind their start, and its
  // route header before it if it has one.
  Transfer deliver(const Receiving& received, const std::vector<Piece>& pieces,
                   const Incoming& incoming);

  const ObjectTables& objects_;
  TransferSteps& steps_;
  PayloadCopier& payloads_;
  ReceiveQueue& receives_;
  QpShutdown& shutdown_;
};

}  // namespace scela::hca
