// Messages of a communicator.
#include <memory>
#include <utility>

#include "capi/handles.h"

using namespace scela::capi;
using scela::ReceivePieces;
using scela::SendPieces;
using scela::Status;

namespace {

scela_request** const kNothingMade = nullptr;

}  // namespace

// ---- contiguous bytes ----

scela_code scela_communicator_send(scela_communicator* communicator, int peer, int tag,
                                   const void* data, size_t bytes) {
  if (communicator == nullptr) return refuse_null(communicator);
  return guarded(
      [&] { return report(communicator->communicator.send(peer, tag, readable(data, bytes))); });
}

scela_code scela_communicator_recv(scela_communicator* communicator, int source, int tag,
                                   void* data, size_t bytes, int64_t timeout,
                                   scela_received* received) {
  give({}, received);
  if (communicator == nullptr) return refuse_null(communicator);
  return guarded([&] {
    const Status status =
        communicator->communicator.recv(source, tag, writable(data, bytes), timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}

scela_code scela_communicator_isend(scela_communicator* communicator, int peer, int tag,
                                    const void* data, size_t bytes, scela_request** request) {
  return begin_message(communicator, request, [&] {
    return communicator->communicator.isend(peer, tag, readable(data, bytes));
  });
}

scela_code scela_communicator_issend(scela_communicator* communicator, int peer, int tag,
                                     const void* data, size_t bytes, scela_request** request) {
  return begin_message(communicator, request, [&] {
    return communicator->communicator.issend(peer, tag, readable(data, bytes));
  });
}

scela_code scela_communicator_irecv(scela_communicator* communicator, int source, int tag,
                                    void* data, size_t bytes, scela_request** request) {
  return begin_message(communicator, request, [&] {
    return communicator->communicator.irecv(source, tag, writable(data, bytes));
  });
}

scela_code scela_communicator_send_init(scela_communicator* communicator, int peer, int tag,
                                        const void* data, size_t bytes, scela_request** request) {
  return begin_message(communicator, request, [&] {
    return communicator->communicator.send_init(peer, tag, readable(data, bytes));
  });
}

scela_code scela_communicator_recv_init(scela_communicator* communicator, int source, int tag,
                                        void* data, size_t bytes, scela_request** request) {
  return begin_message(communicator, request, [&] {
    return communicator->communicator.recv_init(source, tag, writable(data, bytes));
  });
}

// ---- probes ----

scela_code scela_communicator_probe(scela_communicator* communicator, int source, int tag,
                                    int64_t timeout, scela_received* received) {
  give({}, received);
  if (communicator == nullptr) return refuse_null(communicator);
  return guarded([&] {
    const Status status = communicator->communicator.probe(source, tag, timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}

scela_code scela_communicator_probe_take(scela_communicator* communicator, int source, int tag,
                                         scela_received* received, scela_probed** message) {
  return take_probed(communicator, received, message,
                     [&] { return communicator->communicator.improbe(source, tag); });
}

scela_code scela_communicator_irecv_probed(scela_communicator* communicator, scela_probed* message,
                                           void* data, size_t bytes, scela_request** request) {
  return receive_probed(communicator, message, request, [&](scela::ProbedMessage taken) {
    return communicator->communicator.imrecv(std::move(taken), writable(data, bytes));
  });
}

// ---- several pieces ----

scela_code scela_communicator_send_pieces(scela_communicator* communicator, int peer, int tag,
                                          const scela_const_piece* pieces, size_t count) {
  if (communicator == nullptr) return refuse_null(communicator);
  return with_pieces(pieces, count, kNothingMade, [&](SendPieces list) {
    return report(communicator->communicator.send(peer, tag, list));
  });
}

scela_code scela_communicator_recv_pieces(scela_communicator* communicator, int source, int tag,
                                          const scela_piece* pieces, size_t count, int64_t timeout,
                                          scela_received* received) {
  give({}, received);
  if (communicator == nullptr) return refuse_null(communicator);
  return with_pieces(pieces, count, kNothingMade, [&](ReceivePieces list) {
    const Status status = communicator->communicator.recv(source, tag, list, timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}

scela_code scela_communicator_isend_pieces(scela_communicator* communicator, int peer, int tag,
                                           const scela_const_piece* pieces, size_t count,
                                           scela_request** request) {
  return with_pieces(pieces, count, request, [&](SendPieces list) {
    return begin_message(communicator, request,
                         [&] { return communicator->communicator.isend(peer, tag, list); });
  });
}

scela_code scela_communicator_issend_pieces(scela_communicator* communicator, int peer, int tag,
                                            const scela_const_piece* pieces, size_t count,
                                            scela_request** request) {
  return with_pieces(pieces, count, request, [&](SendPieces list) {
    return begin_message(communicator, request,
                         [&] { return communicator->communicator.issend(peer, tag, list); });
  });
}

scela_code scela_communicator_irecv_pieces(scela_communicator* communicator, int source, int tag,
                                           const scela_piece* pieces, size_t count,
                                           scela_request** request) {
  return with_pieces(pieces, count, request, [&](ReceivePieces list) {
    return begin_message(communicator, request,
                         [&] { return communicator->communicator.irecv(source, tag, list); });
  });
}

scela_code scela_communicator_send_init_pieces(scela_communicator* communicator, int peer, int tag,
                                               const scela_const_piece* pieces, size_t count,
                                               scela_request** request) {
  return with_pieces(pieces, count, request, [&](SendPieces list) {
    return begin_message(communicator, request,
                         [&] { return communicator->communicator.send_init(peer, tag, list); });
  });
}

scela_code scela_communicator_recv_init_pieces(scela_communicator* communicator, int source,
                                               int tag, const scela_piece* pieces, size_t count,
                                               scela_request** request) {
  return with_pieces(pieces, count, request, [&](ReceivePieces list) {
    return begin_message(communicator, request,
                         [&] { return communicator->communicator.recv_init(source, tag, list); });
  });
}

scela_code scela_communicator_irecv_probed_pieces(scela_communicator* communicator,
                                                  scela_probed* message, const scela_piece* pieces,
                                                  size_t count, scela_request** request) {
  std::unique_ptr<scela_probed> owned(message);  // freed in any case
  return with_pieces(pieces, count, request, [&](ReceivePieces list) {
    return receive_probed(communicator, owned.release(), request, [&](scela::ProbedMessage taken) {
      return communicator->communicator.imrecv(std::move(taken), list);
    });
  });
}
