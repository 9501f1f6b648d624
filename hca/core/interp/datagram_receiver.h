// Receives datagrams for the UD queue pairs of this node.
//
// Datagrams of this node come from DatagramSender, others from RemoteResponder. The interpreter's
// one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/interp/qp_shutdown.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/message_part.h"
#include "hca/core/queues/receive_queue.h"
#include "hca/core/transfer/payload_copier.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

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

  // Receives a datagram for the queue pair `qpn`, which need not exist. If anything is wrong with
  // the datagram or its receiver, it is lost without an error to its sender. Returns `later` if the
  // step is held. After any other result the datagram is over; `refused` means that it was not
  // delivered.
  Transfer receive(std::uint32_t qpn, const Incoming& incoming);

 private:
  // Copies the datagram to the request's buffers, behind its route header if it has one.
  Transfer deliver(const Receiving& received, const std::vector<Piece>& pieces,
                   const Incoming& incoming);

  const ObjectTables& objects_;
  TransferSteps& steps_;
  PayloadCopier& payloads_;
  ReceiveQueue& receives_;
  QpShutdown& shutdown_;
};

}  // namespace scela::hca
