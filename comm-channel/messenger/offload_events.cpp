#include "comm-channel/messenger/offload_events.h"

#include <span>
#include <utility>
#include <vector>

#include "comm-channel/engine/error_words.h"

namespace scela::channel {

OffloadEvents::OffloadEvents(Peers& peers, Transports& transports, SendQueue& send_queue,
                             ReceiveQueue& receive_queue, ReceiveCompletion& completion,
                             NetworkUser& user)
    : peers_(peers),
      transports_(transports),
      send_queue_(send_queue),
      receive_queue_(receive_queue),
      completion_(completion),
      user_(user) {}

void OffloadEvents::say(int rank, const ControlMessage& saying, const LaneEnd* end) {
  std::vector<std::byte> bytes;
  const auto add = [&bytes](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  add(bytes_of(saying.body));
  if (end != nullptr) add(bytes_of(*end));
  add(std::as_bytes(std::span(saying.parked)));
  Header header;
  header.kind = saying.kind;
  header.context = saying.context;
  header.tag = saying.tag;
  send_queue_.enqueue_control(rank, header, std::move(bytes));
}

void OffloadEvents::offloaded(Operation& send) {
  send.finish();
}

void OffloadEvents::came(Operation& receive, const Envelope& envelope, const std::byte* own) {
  if (own != nullptr)
    return static_cast<void>(
        completion_.deliver_guarded(receive, envelope, {own, envelope.length}));
  completion_.complete(receive, envelope, envelope.length);
}

void OffloadEvents::matched(Operation& receive, Unexpected& message) {
  receive_queue_.receive(receive, message);
}

void OffloadEvents::cancelled(Operation& receive) {
  receive.finish(error_with(Code::cancelled, receive));
}

void OffloadEvents::refused(Operation& operation, int rank, const Error& why) {
  operation.finish(error_of(Code::resources, rank, why.text()));
}

void OffloadEvents::peer_gone(Operation& operation, int rank) {
  operation.finish(transports_.error_of_end(rank));
}

void OffloadEvents::unreachable(int rank, const std::string& why) {
  NetworkPeers* const network = transports_.network();
  if (network != nullptr && !peers_.has_ended(rank)) network->give_up(rank);
  user_.lost(rank, why);
}

}  // namespace scela::channel
