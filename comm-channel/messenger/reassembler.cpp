#include "comm-channel/messenger/reassembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

namespace {

// Copies a fragment to its place in a buffer, as far as that goes.
void copy_fragment(std::byte* to, std::size_t room, std::uint64_t at,
                   std::span<const std::byte> fragment) {
  const std::size_t size =
      std::min<std::uint64_t>(fragment.size(), room - std::min<std::uint64_t>(at, room));
  if (size != 0) std::memcpy(to + at, fragment.data(), size);
}

}  // namespace

Reassembler::Reassembler(std::size_t ranks, const Transports& transports, Matcher& matcher,
                         UnexpectedStore& unexpected, ReceiveCompletion& completion)
    : transports_(transports),
      matcher_(matcher),
      unexpected_(unexpected),
      completion_(completion),
      messages_(ranks) {}

void Reassembler::on_first_fragment(int rank, const Header& header,
                                    std::span<const std::byte> fragment) {
  Message& message = message_of(rank);
  const Envelope envelope{header.context, rank, header.tag, header.number};
  if (message.came != message.envelope.length || envelope.length > kMaxFragmentedShm) return;
  message = {envelope, 0, nullptr, nullptr};
  if (Posted* const receive = matcher_.arrived(envelope))
    message.receive = static_cast<Operation*>(receive);
  else
    message.kept = &unexpected_.store_incomplete(envelope);
  on_fragment(rank, fragment);
}

void Reassembler::on_fragment(int rank, std::span<const std::byte> fragment) {
  Message& message = message_of(rank);
  const std::uint64_t at = message.came;
  if (fragment.size() > message.envelope.length - at) return;
  message.came += fragment.size();
  const bool last = message.came == message.envelope.length;
  if (message.receive != nullptr) {
    Operation& receive = *message.receive;
    copy_fragment(receive.to, receive.room, at, fragment);
    if (!last) return;
    message.receive = nullptr;
    completion_.complete(receive, message.envelope,
                         std::min<std::uint64_t>(message.came, receive.room));
  } else if (message.kept != nullptr) {
    copy_fragment(message.kept->bytes.get(), message.kept->capacity, at, fragment);
    message.kept->missing -= fragment.size();
    if (last) message.kept = nullptr;
  }
}

void Reassembler::attach(Operation& receive, UnexpectedMessage& message) {
  const int rank = message.envelope.source;
  Message& coming = message_of(rank);
  if (coming.kept != &message) return receive.finish(transports_.error_of_end(rank));
  copy_fragment(receive.to, receive.room, 0, {message.bytes.get(), coming.came});
  coming.kept = nullptr;
  coming.receive = &receive;
}

void Reassembler::ignore(const UnexpectedMessage& message) {
  Message& coming = message_of(message.envelope.source);
  if (coming.kept == &message) coming.kept = nullptr;
}

void Reassembler::end(int rank) {
  const Message broken = std::exchange(message_of(rank), {});
  if (broken.receive != nullptr) broken.receive->finish(transports_.error_of_end(rank));
}

}  // namespace scela::channel
