// The messages of a communicator: those of its channel, in a context of its own. The channel's
// requests know ranks by the channel's numbers. If the communicator has others, its group of ranks
// is given to the request, which translates them.
#include <utility>

#include "collectives/communicator/families.h"
#include "collectives/communicator/group.h"
#include "collectives/communicator/refused_request.h"
#include "comm-channel/include/inside.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

namespace scela {

using namespace collectives;
using channel::Inside;

// Returns null if there are no messages with this rank; why_not() then says why.
const Communicator::State* Communicator::messages_with(int rank) const {
  const bool possible = state_ != nullptr && state_->group != nullptr && rank >= 0 &&
                        static_cast<std::size_t>(rank) < state_->ranks.size() &&
                        !Inside::is_closed(*state_->engine->channel);
  return possible ? state_.get() : nullptr;
}

const Communicator::State* Communicator::messages_from(int source) const {
  // This rank always exists.
  return messages_with(source == kAnySource && state_ != nullptr ? state_->rank : source);
}

Status Communicator::why_not(const char* tried, int rank) const {
  if (state_ == nullptr) return error_of_empty();
  const auto refuse = [&](Code code, const std::string& why) {
    return Status(
        code, rank,
        cat(tried, " rank ", rank, ", on rank ", state_->rank, " of a communicator: ", why));
  };
  if (state_->group == nullptr)
    return refuse(Code::bad_communicator,
                  "its messages are those of another library (PointToPoint): send and receive by "
                  "that");
  if (Inside::is_closed(*state_->engine->channel))
    return refuse(Code::closed, "the program has closed its channel");
  return refuse(Code::bad_rank, cat("there are ranks 0 to ", state_->ranks.size() - 1));
}

namespace {

constexpr const char* kSend = "send to";
constexpr const char* kReceive = "receive from";
constexpr const char* kProbe = "probe for a message of";

int in_channel(const Communicator::State& here, int rank) {
  return rank == kAnySource ? kAnySource : here.ranks[static_cast<std::size_t>(rank)];
}

Request of_group(const Communicator::State& here, Request request) {
  if (!here.group->is_whole()) Inside::set_group(request, here.group);
  return request;
}

// A persistent request asks its group whether the communicator was freed.
Request kept_of_group(const Communicator::State& here, Request request) {
  Inside::set_group(request, here.group);
  return request;
}

Status of_group(const Communicator::State& here, Status status) {
  here.group->translate(status);
  return status;
}

}  // namespace

// The bytes of these calls are a span, or pieces.
template <class Bytes>
Request Communicator::begin_send(int peer, int tag, Bytes bytes) {
  const State* const here = messages_with(peer);
  if (here == nullptr) [[unlikely]]
    return refused_request(why_not(kSend, peer));
  return of_group(*here, here->engine->channel->isend(in_channel(*here, peer), tag, bytes,
                                                      here->message_context));
}

template <class Bytes>
Request Communicator::begin_synchronous(int peer, int tag, Bytes bytes) {
  const State* const here = messages_with(peer);
  if (here == nullptr) return refused_request(why_not(kSend, peer));
  return of_group(*here, here->engine->channel->issend(in_channel(*here, peer), tag, bytes,
                                                       here->message_context));
}

template <class Bytes>
Request Communicator::begin_receive(int source, int tag, Bytes bytes) {
  const State* const here = messages_from(source);
  if (here == nullptr) [[unlikely]]
    return refused_request(why_not(kReceive, source));
  return of_group(*here, here->engine->channel->irecv(in_channel(*here, source), tag, bytes,
                                                      here->message_context));
}

template <class Bytes>
Status Communicator::send_bytes(int peer, int tag, Bytes bytes) {
  const State* const here = messages_with(peer);
  if (here == nullptr) [[unlikely]]
    return why_not(kSend, peer);
  return of_group(*here, here->engine->channel->send(in_channel(*here, peer), tag, bytes,
                                                     here->message_context));
}

// A receive from any rank ends with the communicator's ranks, so its request must know them.
template <class Bytes>
Status Communicator::receive_bytes(int source, int tag, Bytes bytes, Timeout timeout) {
  const State* const here = messages_from(source);
  if (here == nullptr) [[unlikely]]
    return why_not(kReceive, source);
  if (source == kAnySource && !here->group->is_whole()) {
    Request request = begin_receive(source, tag, bytes);
    return Inside::received(request, timeout);
  }
  return of_group(*here, here->engine->channel->recv(in_channel(*here, source), tag, bytes,
                                                     here->message_context, timeout));
}

template <class Bytes>
Request Communicator::prepare_send(int peer, int tag, Bytes bytes) {
  const State* const here = messages_with(peer);
  if (here == nullptr) return refused_request(why_not(kSend, peer));
  return kept_of_group(*here, here->engine->channel->send_init(in_channel(*here, peer), tag, bytes,
                                                               here->message_context));
}

template <class Bytes>
Request Communicator::prepare_receive(int source, int tag, Bytes bytes) {
  const State* const here = messages_from(source);
  if (here == nullptr) return refused_request(why_not(kReceive, source));
  return kept_of_group(*here, here->engine->channel->recv_init(in_channel(*here, source), tag,
                                                               bytes, here->message_context));
}

Request Communicator::isend(int peer, int tag, std::span<const std::byte> bytes) {
  return begin_send(peer, tag, bytes);
}
Request Communicator::isend(int peer, int tag, SendPieces pieces) {
  return begin_send(peer, tag, pieces);
}
Request Communicator::issend(int peer, int tag, std::span<const std::byte> bytes) {
  return begin_synchronous(peer, tag, bytes);
}
Request Communicator::issend(int peer, int tag, SendPieces pieces) {
  return begin_synchronous(peer, tag, pieces);
}
Request Communicator::irecv(int source, int tag, std::span<std::byte> bytes) {
  return begin_receive(source, tag, bytes);
}
Request Communicator::irecv(int source, int tag, ReceivePieces pieces) {
  return begin_receive(source, tag, pieces);
}
Status Communicator::send(int peer, int tag, std::span<const std::byte> bytes) {
  return send_bytes(peer, tag, bytes);
}
Status Communicator::send(int peer, int tag, SendPieces pieces) {
  return send_bytes(peer, tag, pieces);
}
Status Communicator::recv(int source, int tag, std::span<std::byte> bytes, Timeout timeout) {
  return receive_bytes(source, tag, bytes, timeout);
}
Status Communicator::recv(int source, int tag, ReceivePieces pieces, Timeout timeout) {
  return receive_bytes(source, tag, pieces, timeout);
}
Request Communicator::send_init(int peer, int tag, std::span<const std::byte> bytes) {
  return prepare_send(peer, tag, bytes);
}
Request Communicator::send_init(int peer, int tag, SendPieces pieces) {
  return prepare_send(peer, tag, pieces);
}
Request Communicator::recv_init(int source, int tag, std::span<std::byte> bytes) {
  return prepare_receive(source, tag, bytes);
}
Request Communicator::recv_init(int source, int tag, ReceivePieces pieces) {
  return prepare_receive(source, tag, pieces);
}

// ---- probes ----

std::optional<Status> Communicator::iprobe(int source, int tag) {
  const State* const here = messages_from(source);
  if (here == nullptr) return why_not(kProbe, source);
  return Inside::iprobe(*here->engine->channel, in_channel(*here, source), tag,
                        here->message_context, here->group);
}

Status Communicator::probe(int source, int tag, Timeout timeout) {
  const State* const here = messages_from(source);
  if (here == nullptr) return why_not(kProbe, source);
  return Inside::probe(*here->engine->channel, in_channel(*here, source), tag,
                       here->message_context, timeout, here->group);
}

std::optional<ProbedMessage> Communicator::improbe(int source, int tag) {
  const State* const here = messages_from(source);
  if (here == nullptr) return Inside::nothing_probed(why_not(kProbe, source));
  return Inside::improbe(*here->engine->channel, in_channel(*here, source), tag,
                         here->message_context, here->group);
}

Request Communicator::imrecv(ProbedMessage message, std::span<std::byte> bytes) {
  const State* const here = messages_from(kAnySource);
  if (here == nullptr) return refused_request(why_not(kReceive, kAnySource));
  return here->engine->channel->imrecv(std::move(message), bytes);
}

Request Communicator::imrecv(ProbedMessage message, ReceivePieces pieces) {
  const State* const here = messages_from(kAnySource);
  if (here == nullptr) return refused_request(why_not(kReceive, kAnySource));
  return here->engine->channel->imrecv(std::move(message), pieces);
}

}  // namespace scela
