// The functions that the offloader calls: messages about channels, and the ends of operations that
// went by channels.
#include <cstring>

#include "comm-channel/engine/error_words.h"
#include "comm-channel/engine/messenger.h"
#include "common/core/text.h"

namespace scela::channel {

void Messenger::say(int rank, const ControlMessage& saying, const LaneEnd* end) {
  std::vector<std::byte> bytes;
  const auto add = [&bytes](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  add(bytes_of(saying.body));
  if (end != nullptr) add(bytes_of(*end));
  add(std::as_bytes(std::span(saying.parked)));
  Outgoing outgoing;
  outgoing.header.kind = saying.kind;
  outgoing.header.context = saying.context;
  outgoing.header.tag = saying.tag;
  outgoing.longer = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  put(rank, outgoing);
}

// Receives that were held back because of what was left wait now. Their peers may have ended
// meanwhile.
void Messenger::agreement_arrived(int rank, const Header& header,
                                  std::span<const std::byte> payload) {
  if (offloader_) {
    offloader_->arrived(rank, header, payload);
    if (header.kind == Kind::left)
      for (const int gone : ended_)
        fail_receives_of(gone);
    return;
  }
  const auto opening = header.kind == Kind::open ? opening_of(Kind::open, payload) : std::nullopt;
  if (!opening) return;
  ControlMessage no{Kind::opened, 0, 0, opening->agreement, {}};
  no.body.count = 0;
  say(rank, no, nullptr);
}

void Messenger::offloaded(Operation& send) {
  complete(send);
}

void Messenger::came(Operation& receive, const Envelope& envelope, const std::byte* own) {
  if (own != nullptr)
    return static_cast<void>(fill_guarded(receive, envelope, {own, envelope.length}));
  received(receive, envelope, envelope.length);
}

void Messenger::matched(Operation& receive, Unexpected& message) {
  this->receive(receive, message);
}

void Messenger::cancelled(Operation& receive) {
  complete(receive, error_with(Code::cancelled, receive));
}

void Messenger::refused(Operation& operation, int rank, const Error& why) {
  complete(operation, error_of(Code::resources, rank, why.text()));
}

void Messenger::peer_gone(Operation& operation, int rank) {
  complete(operation, peer_ended(rank));
}

void Messenger::unreachable(int rank, const std::string& why) {
  if (network_ && !has_ended(rank)) network_->give_up(rank);
  lost(rank, why);
}

}  // namespace scela::channel
