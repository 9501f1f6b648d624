// Messages of several pieces of a channel.
#include "capi/handles.h"

using namespace scela::capi;
using scela::ReceivePieces;
using scela::SendPieces;

namespace {

scela_request** const kNoneMade = nullptr;

}  // namespace

scela_code scela_isend_pieces(scela_channel* channel, int peer, int tag,
                              const scela_const_piece* pieces, size_t count, uint32_t context,
                              scela_request** request) {
  return with_pieces(pieces, count, request, [&](SendPieces list) {
    return begin_message(channel, request,
                         [&] { return channel->channel->isend(peer, tag, list, context); });
  });
}

scela_code scela_issend_pieces(scela_channel* channel, int peer, int tag,
                               const scela_const_piece* pieces, size_t count, uint32_t context,
                               scela_request** request) {
  return with_pieces(pieces, count, request, [&](SendPieces list) {
    return begin_message(channel, request,
                         [&] { return channel->channel->issend(peer, tag, list, context); });
  });
}

scela_code scela_irecv_pieces(scela_channel* channel, int source, int tag,
                              const scela_piece* pieces, size_t count, uint32_t context,
                              scela_request** request) {
  return with_pieces(pieces, count, request, [&](ReceivePieces list) {
    return begin_message(channel, request,
                         [&] { return channel->channel->irecv(source, tag, list, context); });
  });
}

scela_code scela_send_init_pieces(scela_channel* channel, int peer, int tag,
                                  const scela_const_piece* pieces, size_t count, uint32_t context,
                                  scela_request** request) {
  return with_pieces(pieces, count, request, [&](SendPieces list) {
    return begin_message(channel, request,
                         [&] { return channel->channel->send_init(peer, tag, list, context); });
  });
}

scela_code scela_recv_init_pieces(scela_channel* channel, int source, int tag,
                                  const scela_piece* pieces, size_t count, uint32_t context,
                                  scela_request** request) {
  return with_pieces(pieces, count, request, [&](ReceivePieces list) {
    return begin_message(channel, request,
                         [&] { return channel->channel->recv_init(source, tag, list, context); });
  });
}

scela_code scela_send_pieces(scela_channel* channel, int peer, int tag,
                             const scela_const_piece* pieces, size_t count, uint32_t context) {
  if (channel == nullptr) return refuse_null(channel);
  return with_pieces(pieces, count, kNoneMade, [&](SendPieces list) {
    return report(channel->channel->send(peer, tag, list, context));
  });
}

scela_code scela_recv_pieces(scela_channel* channel, int source, int tag, const scela_piece* pieces,
                             size_t count, uint32_t context, int64_t timeout,
                             scela_received* received) {
  give({}, received);
  if (channel == nullptr) return refuse_null(channel);
  return with_pieces(pieces, count, kNoneMade, [&](ReceivePieces list) {
    const scela::Status status =
        channel->channel->recv(source, tag, list, context, timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}
