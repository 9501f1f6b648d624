#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/handles.h"
#include "comm-channel/api/environment_options.h"
#include "common/core/text.h"

using namespace scela::capi;
using scela::Code;
using scela::Status;

namespace {

// Calls a function of an open channel, which makes a request.
template <class Begin>
scela_code begin(scela_channel* channel, scela_request** request, Begin&& call) {
  return begin_message(channel, request, [&] { return call(*channel->channel); });
}

}  // namespace

scela_code scela_channel_open(const char* const* settings, scela_channel** channel) {
  if (channel == nullptr)
    return refuse(Code::bad_argument, "`channel` is NULL: where is it to go?");
  *channel = nullptr;
  return guarded([&] {
    std::vector<std::string> named;
    for (const char* const* one = settings; one != nullptr && *one != nullptr; ++one) {
      if (!scela::channel::is_option(*one))
        return report(Status(Code::bad_argument, -1,
                             scela::cat("open the channel: there is no setting '", *one,
                                        "' (scela_channel(3) lists them)")));
      named.push_back(scela::cat("SCELA_CHANNEL_", *one));
    }
    std::vector<const char*> words;
    for (const std::string& one : named)
      words.push_back(one.c_str());
    const auto options = scela::channel::overruled({}, words);
    if (!options) return report(Status(Code::bad_argument, -1, options.error().text()));
    auto handle = std::make_unique<scela_channel>();
    scela::Channel::Opened opened = scela::Channel::open(*options);
    if (!opened.status.ok()) return report(opened.status);
    handle->channel = std::move(opened.channel);
    *channel = handle.release();
    return SCELA_OK;
  });
}

void scela_channel_close(scela_channel* channel) {
  delete channel;
}

int scela_rank(const scela_channel* channel) {
  return channel == nullptr ? -1 : channel->channel->rank();
}
int scela_size(const scela_channel* channel) {
  return channel == nullptr ? -1 : channel->channel->size();
}
int scela_node(const scela_channel* channel) {
  return channel == nullptr ? -1 : channel->channel->node();
}
int scela_nodes(const scela_channel* channel) {
  return channel == nullptr ? -1 : channel->channel->nodes();
}
int scela_node_of(const scela_channel* channel, int rank) {
  return channel == nullptr ? -1 : channel->channel->node_of(rank);
}

scela_code scela_send(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                      uint32_t context) {
  if (channel == nullptr) return refuse_null(channel);
  return guarded(
      [&] { return report(channel->channel->send(peer, tag, readable(data, bytes), context)); });
}

scela_code scela_recv(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                      uint32_t context, int64_t timeout, scela_received* received) {
  give({}, received);
  if (channel == nullptr) return refuse_null(channel);
  return guarded([&] {
    const Status status =
        channel->channel->recv(source, tag, writable(data, bytes), context, timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}

scela_code scela_isend(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                       uint32_t context, scela_request** request) {
  return begin(channel, request, [&](scela::Channel& open) {
    return open.isend(peer, tag, readable(data, bytes), context);
  });
}
scela_code scela_issend(scela_channel* channel, int peer, int tag, const void* data, size_t bytes,
                        uint32_t context, scela_request** request) {
  return begin(channel, request, [&](scela::Channel& open) {
    return open.issend(peer, tag, readable(data, bytes), context);
  });
}
scela_code scela_irecv(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                       uint32_t context, scela_request** request) {
  return begin(channel, request, [&](scela::Channel& open) {
    return open.irecv(source, tag, writable(data, bytes), context);
  });
}
scela_code scela_send_init(scela_channel* channel, int peer, int tag, const void* data,
                           size_t bytes, uint32_t context, scela_request** request) {
  return begin(channel, request, [&](scela::Channel& open) {
    return open.send_init(peer, tag, readable(data, bytes), context);
  });
}
scela_code scela_recv_init(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                           uint32_t context, scela_request** request) {
  return begin(channel, request, [&](scela::Channel& open) {
    return open.recv_init(source, tag, writable(data, bytes), context);
  });
}

scela_code scela_probe(scela_channel* channel, int source, int tag, uint32_t context,
                       int64_t timeout, scela_received* received) {
  give({}, received);
  if (channel == nullptr) return refuse_null(channel);
  return guarded([&] {
    const Status status = channel->channel->probe(source, tag, context, timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}

scela_code scela_probe_take(scela_channel* channel, int source, int tag, uint32_t context,
                            scela_received* received, scela_probed** message) {
  return take_probed(channel, received, message,
                     [&] { return channel->channel->improbe(source, tag, context); });
}

scela_code scela_irecv_probed(scela_channel* channel, scela_probed* message, void* data,
                              size_t bytes, scela_request** request) {
  return receive_probed(channel, message, request, [&](scela::ProbedMessage taken) {
    return channel->channel->imrecv(std::move(taken), writable(data, bytes));
  });
}
scela_code scela_irecv_probed_pieces(scela_channel* channel, scela_probed* message,
                                     const scela_piece* pieces, size_t count,
                                     scela_request** request) {
  std::unique_ptr<scela_probed> owned(message);  // freed in any case
  return with_pieces(pieces, count, request, [&](scela::ReceivePieces list) {
    return receive_probed(channel, owned.release(), request, [&](scela::ProbedMessage taken) {
      return channel->channel->imrecv(std::move(taken), list);
    });
  });
}

void scela_probed_free(scela_probed* message) {
  delete message;
}

int scela_progress(scela_channel* channel) {
  return channel == nullptr ? 0 : guarded_flag([&] { return channel->channel->progress(); });
}

void scela_abort(scela_channel* channel, int status, const char* why) {
  const char* const text = why != nullptr ? why : "";
  if (channel != nullptr) channel->channel->abort(status, text);
  std::fprintf(stderr, "%s\n", text);
  std::_Exit((status & 255) == 0 ? 1 : status & 255);
}

int scela_has_exited(const scela_channel* channel, int rank) {
  return channel == nullptr ? 0 : guarded_flag([&] { return channel->channel->has_exited(rank); });
}
