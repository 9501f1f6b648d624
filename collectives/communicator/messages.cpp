// The messages of a communicator: those of its channel, in a context of their own. The channel's
// requests know ranks by the channel's numbers. If the communicator has others, its group of ranks
// is given to the request, which translates them.
#include "collectives/include/scela/messages.h"

#include <utility>

#include "collectives/communicator/message_group.h"
#include "collectives/communicator/refused_request.h"
#include "comm-channel/include/inside.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

namespace scela {

using channel::Inside;
using collectives::error_of_empty;
using collectives::MessageGroup;
using collectives::refused_request;

Messages::Messages() = default;
Messages::Messages(std::shared_ptr<const MessageGroup> group) : group_(std::move(group)) {}
Messages::Messages(Messages&&) noexcept = default;
Messages& Messages::operator=(Messages&&) noexcept = default;
Messages::~Messages() = default;

namespace {

constexpr const char* kSend = "send to";
constexpr const char* kReceive = "receive from";
constexpr const char* kProbe = "probe for a message of";

// Returns whether there are messages at all; why_not() says why there are none.
bool are_possible(const MessageGroup* here) {
  return here != nullptr && here->channel != nullptr &&
         !here->closed->load(std::memory_order_relaxed);
}
bool can_send(const MessageGroup* here, int peer) {
  return are_possible(here) && peer >= 0 && peer < here->size;
}
bool can_receive(const MessageGroup* here, int source) {
  return are_possible(here) && source < here->size && (source >= 0 || source == kAnySource);
}

// This function and the next are kept out of the calls, so that these stay short.
[[gnu::noinline, gnu::cold]] Status why_not(const MessageGroup* here, const char* tried, int rank) {
  if (here == nullptr) return error_of_empty();
  const auto refuse = [&](Code code, const std::string& why) {
    return Status(code, rank,
                  cat(tried, " rank ", rank, ", on rank ", here->own, " of a communicator: ", why));
  };
  if (here->channel == nullptr)
    return refuse(Code::bad_communicator,
                  "its messages are those of another library (PointToPoint): send and receive by "
                  "that");
  if (here->closed->load(std::memory_order_relaxed))
    return refuse(Code::closed, "the program has closed its channel");
  return refuse(Code::bad_rank, cat("there are ranks 0 to ", here->size - 1));
}

[[gnu::noinline, gnu::cold]] Request refused(const MessageGroup* here, const char* tried,
                                             int rank) {
  return refused_request(why_not(here, tried, rank));
}

int in_channel(const MessageGroup& here, int rank) {
  return here.is_whole || rank == kAnySource ? rank : here.ranks->channel_rank(rank);
}

// The user of the request knows its ranks by the communicator's numbers.
Request named(const MessageGroup& here, Request request) {
  Inside::set_group(request, here.ranks);
  return request;
}
Status named(const MessageGroup& here, Status status) {
  here.ranks->translate(status);
  return status;
}

// Each of these is for contiguous bytes, and for pieces. A communicator of all ranks in their order
// passes the call on. A persistent request asks its group whether the communicator was freed.
template <class Bytes>
Request begin_send(const MessageGroup* here, int peer, int tag, Bytes bytes) {
  if (!can_send(here, peer)) [[unlikely]]
    return refused(here, kSend, peer);
  if (here->is_whole) [[likely]]
    return here->channel->isend(peer, tag, bytes, here->context);
  return named(*here, here->channel->isend(in_channel(*here, peer), tag, bytes, here->context));
}

template <class Bytes>
Request begin_synchronous(const MessageGroup* here, int peer, int tag, Bytes bytes) {
  if (!can_send(here, peer)) return refused(here, kSend, peer);
  if (here->is_whole) [[likely]]
    return here->channel->issend(peer, tag, bytes, here->context);
  return named(*here, here->channel->issend(in_channel(*here, peer), tag, bytes, here->context));
}

template <class Bytes>
Request begin_receive(const MessageGroup* here, int source, int tag, Bytes bytes) {
  if (!can_receive(here, source)) [[unlikely]]
    return refused(here, kReceive, source);
  if (here->is_whole) [[likely]]
    return here->channel->irecv(source, tag, bytes, here->context);
  return named(*here, here->channel->irecv(in_channel(*here, source), tag, bytes, here->context));
}

template <class Bytes>
Status send_whole(const MessageGroup* here, int peer, int tag, Bytes bytes) {
  if (!can_send(here, peer)) [[unlikely]]
    return why_not(here, kSend, peer);
  if (here->is_whole) [[likely]]
    return here->channel->send(peer, tag, bytes, here->context);
  return named(*here, here->channel->send(in_channel(*here, peer), tag, bytes, here->context));
}

// A receive from any rank ends with the communicator's ranks, so its request must know them.
template <class Bytes>
Status receive_whole(const MessageGroup* here, int source, int tag, Bytes bytes, Timeout timeout) {
  if (!can_receive(here, source)) [[unlikely]]
    return why_not(here, kReceive, source);
  if (source == kAnySource && !here->is_whole) {
    Request request = begin_receive(here, source, tag, bytes);
    return Inside::received(request, timeout);
  }
  if (here->is_whole) [[likely]]
    return here->channel->recv(source, tag, bytes, here->context, timeout);
  return named(*here,
               here->channel->recv(in_channel(*here, source), tag, bytes, here->context, timeout));
}

template <class Bytes>
Request prepare_send(const MessageGroup* here, int peer, int tag, Bytes bytes) {
  if (!can_send(here, peer)) return refused(here, kSend, peer);
  return named(*here, here->channel->send_init(in_channel(*here, peer), tag, bytes, here->context));
}

template <class Bytes>
Request prepare_receive(const MessageGroup* here, int source, int tag, Bytes bytes) {
  if (!can_receive(here, source)) return refused(here, kReceive, source);
  return named(*here,
               here->channel->recv_init(in_channel(*here, source), tag, bytes, here->context));
}

template <class Bytes>
Request receive_probed(const MessageGroup* here, ProbedMessage message, Bytes bytes) {
  if (!are_possible(here)) return refused(here, kReceive, kAnySource);
  return here->channel->imrecv(std::move(message), bytes);
}

}  // namespace

Request Messages::isend(int peer, int tag, std::span<const std::byte> bytes) {
  return begin_send(group_.get(), peer, tag, bytes);
}
Request Messages::isend(int peer, int tag, SendPieces pieces) {
  return begin_send(group_.get(), peer, tag, pieces);
}
Request Messages::issend(int peer, int tag, std::span<const std::byte> bytes) {
  return begin_synchronous(group_.get(), peer, tag, bytes);
}
Request Messages::issend(int peer, int tag, SendPieces pieces) {
  return begin_synchronous(group_.get(), peer, tag, pieces);
}
Request Messages::irecv(int source, int tag, std::span<std::byte> bytes) {
  return begin_receive(group_.get(), source, tag, bytes);
}
Request Messages::irecv(int source, int tag, ReceivePieces pieces) {
  return begin_receive(group_.get(), source, tag, pieces);
}
Status Messages::send(int peer, int tag, std::span<const std::byte> bytes) {
  return send_whole(group_.get(), peer, tag, bytes);
}
Status Messages::send(int peer, int tag, SendPieces pieces) {
  return send_whole(group_.get(), peer, tag, pieces);
}
Status Messages::recv(int source, int tag, std::span<std::byte> bytes, Timeout timeout) {
  return receive_whole(group_.get(), source, tag, bytes, timeout);
}
Status Messages::recv(int source, int tag, ReceivePieces pieces, Timeout timeout) {
  return receive_whole(group_.get(), source, tag, pieces, timeout);
}
Request Messages::send_init(int peer, int tag, std::span<const std::byte> bytes) {
  return prepare_send(group_.get(), peer, tag, bytes);
}
Request Messages::send_init(int peer, int tag, SendPieces pieces) {
  return prepare_send(group_.get(), peer, tag, pieces);
}
Request Messages::recv_init(int source, int tag, std::span<std::byte> bytes) {
  return prepare_receive(group_.get(), source, tag, bytes);
}
Request Messages::recv_init(int source, int tag, ReceivePieces pieces) {
  return prepare_receive(group_.get(), source, tag, pieces);
}

// ---- probes ----

std::optional<Status> Messages::iprobe(int source, int tag) {
  const MessageGroup* const here = group_.get();
  if (!can_receive(here, source)) return why_not(here, kProbe, source);
  return Inside::iprobe(*here->channel, in_channel(*here, source), tag, here->context, here->ranks);
}

Status Messages::probe(int source, int tag, Timeout timeout) {
  const MessageGroup* const here = group_.get();
  if (!can_receive(here, source)) return why_not(here, kProbe, source);
  return Inside::probe(*here->channel, in_channel(*here, source), tag, here->context, timeout,
                       here->ranks);
}

std::optional<ProbedMessage> Messages::improbe(int source, int tag) {
  const MessageGroup* const here = group_.get();
  if (!can_receive(here, source)) return Inside::nothing_probed(why_not(here, kProbe, source));
  return Inside::improbe(*here->channel, in_channel(*here, source), tag, here->context,
                         here->ranks);
}

Request Messages::imrecv(ProbedMessage message, std::span<std::byte> bytes) {
  return receive_probed(group_.get(), std::move(message), bytes);
}
Request Messages::imrecv(ProbedMessage message, ReceivePieces pieces) {
  return receive_probed(group_.get(), std::move(message), pieces);
}

}  // namespace scela
