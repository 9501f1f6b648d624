#include "comm-channel/messenger/loopback.h"

#include <cstddef>

#include "comm-channel/engine/error_words.h"

namespace scela::channel {

Loopback::Loopback(const ChannelOptions& options, Peers& peers, Matcher& matcher,
                   UnexpectedStore& unexpected, PendingTransfers& pending,
                   ReceiveCompletion& completion)
    : options_(options),
      peers_(peers),
      matcher_(matcher),
      unexpected_(unexpected),
      pending_(pending),
      completion_(completion) {}

void Loopback::send(Operation& send) {
  const Envelope envelope{send.context, peers_.own_rank(), send.tag, send.length};
  peers_.count_sent(peers_.own_rank(), send.length);
  // The bytes of a long message stay where they are until there is a receive. Small messages are
  // copied.
  const bool is_long = send.length > options_.eager.shm;
  if (Posted* const posted = matcher_.arrived(envelope)) {
    auto& receive = static_cast<Operation&>(*posted);
    if (is_long && !completion_.deliver_guarded(receive, envelope, send.sent_bytes()))
      return send.finish(receive.status);
    if (!is_long) completion_.deliver(receive, envelope, send.sent_bytes());
    return send.finish();
  }
  Header header;
  if (send.synchronous) header.flags = flag::kSynchronous;
  if (is_long || send.synchronous) header.number = pending_.add(send);
  if (is_long) {
    Rts own;
    own.length = send.length;
    own.address = reinterpret_cast<std::uint64_t>(send.from);
    unexpected_.store_offer(envelope, header, own);
  } else {
    unexpected_.store(envelope, header, send.sent_bytes());
  }
  if (header.number == 0) send.finish();
}

void Loopback::receive(Operation& receive, const Envelope& envelope, const Rts& rts,
                       std::uint32_t number) {
  Operation* const send = pending_.find(number);
  if (completion_.deliver_guarded(receive, envelope,
                                  {reinterpret_cast<const std::byte*>(rts.address), rts.length}))
    return acknowledge(number, Outcome::none);
  if (send == nullptr) return;
  pending_.remove(*send);
  send->finish(receive.status);
}

void Loopback::acknowledge(std::uint32_t number, Outcome outcome) {
  Operation* const send = pending_.find(number);
  if (send == nullptr) return;
  pending_.remove(*send);
  send->finish(outcome == Outcome::closed ? error_not_received(peers_.own_rank()) : Status());
}

}  // namespace scela::channel
