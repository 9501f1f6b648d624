#include <string>
#include <vector>

#include "capi/handles.h"
#include "comm-channel/api/environment_options.h"
#include "common/core/text.h"

using namespace scela::capi;
using scela::Code;
using scela::Status;

namespace {

constexpr const char* kNoChannel = "the channel is NULL: open it by scela_channel_open()";

std::span<const std::byte> readable(const void* data, size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}

std::span<std::byte> writable(void* data, size_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

// Calls a function of an open channel, which makes a request.
template <class Begin>
scela_code begin(scela_channel* channel, scela_request** request, Begin&& call) {
  if (request == nullptr)
    return refuse(Code::bad_argument, "`request` is NULL: where is it to go?");
  *request = nullptr;
  if (channel == nullptr) return refuse(Code::bad_argument, kNoChannel);
  return guarded([&] { return make([&] { return call(*channel->channel); }, request); });
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
  if (channel == nullptr) return refuse(Code::bad_argument, kNoChannel);
  return guarded(
      [&] { return report(channel->channel->send(peer, tag, readable(data, bytes), context)); });
}

scela_code scela_recv(scela_channel* channel, int source, int tag, void* data, size_t bytes,
                      uint32_t context, int64_t timeout, scela_received* received) {
  if (channel == nullptr) return refuse(Code::bad_argument, kNoChannel);
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
  if (channel == nullptr) return refuse(Code::bad_argument, kNoChannel);
  return guarded([&] {
    const Status status = channel->channel->probe(source, tag, context, timeout_of(timeout));
    give(status, received);
    return report(status);
  });
}

scela_code scela_probe_take(scela_channel* channel, int source, int tag, uint32_t context,
                            scela_received* received, scela_probed** message) {
  if (message == nullptr)
    return refuse(Code::bad_argument, "`message` is NULL: where is it to go?");
  *message = nullptr;
  if (channel == nullptr) return refuse(Code::bad_argument, kNoChannel);
  return guarded([&] {
    auto handle = std::make_unique<scela_probed>();
    std::optional<scela::ProbedMessage>& taken = handle->message;
    taken = channel->channel->improbe(source, tag, context);
    if (!taken) return refuse(Code::timed_out, "take a probed message: there is none yet");
    const Status status = taken->status();
    if (!status.ok()) return report(status);
    give(status, received);
    *message = handle.release();
    return SCELA_OK;
  });
}

scela_code scela_irecv_probed(scela_channel* channel, scela_probed* message, void* data,
                              size_t bytes, scela_request** request) {
  const std::unique_ptr<scela_probed> taken(message);
  if (message == nullptr && request != nullptr) {
    *request = nullptr;
    return refuse(Code::bad_argument, "`message` is NULL: take one by scela_probe_take()");
  }
  return begin(channel, request, [&](scela::Channel& open) {
    return open.imrecv(std::move(*taken->message), writable(data, bytes));
  });
}

void scela_probed_free(scela_probed* message) {
  delete message;
}

int scela_progress(scela_channel* channel) {
  return channel == nullptr ? 0 : guarded_flag([&] { return channel->channel->progress(); });
}

int scela_has_exited(const scela_channel* channel, int rank) {
  return channel == nullptr ? 0 : guarded_flag([&] { return channel->channel->has_exited(rank); });
}
