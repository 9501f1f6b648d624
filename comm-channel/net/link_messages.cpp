#include "comm-channel/net/link_messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace scela::channel {

bool LinkMessages::send(int rank, const Header& header, std::span<const std::byte> payload) {
  Remote& to = ranks_.at(rank);
  if (to.lost) return false;
  const SendSlot slot = slots_.of_messages(to);
  if (slot.pair == nullptr || !requests_.send_again(to)) return false;
  std::byte* const buffer = requests_.take_or_add_buffer();
  if (buffer == nullptr) return false;
  const bool in_order = is_in_order(header.kind);
  const Room room = header.kind == Kind::credit  ? Room::reserved
                    : !in_order                  ? flow_.room_for_answer(to.flow)
                    : flow_.take_credit(to.flow) ? Room::credit
                                                 : Room::none;
  if (room == Room::none) {
    requests_.give_back(buffer);
    return false;
  }
  send_in(to, slot, room, header, payload, buffer);
  return true;
}

void LinkMessages::send_in(Remote& to, const SendSlot& slot, Room room, const Header& header,
                           std::span<const std::byte> payload, std::byte* buffer) {
  Header whole = header;
  flow_.stamp(to.flow, room, whole);
  const std::uint32_t number = to.sequence.number();
  const std::size_t length =
      channel::write({buffer, requests_.buffer_bytes()}, whole, payload, bytes_of(number));
  requests_.post_message(to, slot, buffer, static_cast<std::uint32_t>(length));
}

void LinkMessages::send_credit(Remote& to, const SendSlot& slot, Room room, const Credit& body,
                               std::byte* buffer) {
  Header header;
  header.kind = Kind::credit;
  header.source = world_.rank;
  send_in(to, slot, room, header, bytes_of(body), buffer);
}

void LinkMessages::send_notes() {
  while (std::optional<Flow::Note> note = flow_.next()) {
    const auto& remotes = ranks_.all();
    const auto at = std::ranges::find_if(
        remotes, [&](const auto& one) { return one && &one->flow == note->peer; });
    if (at == remotes.end() || (*at)->lost) continue;
    if ((*at)->notes.empty()) with_notes_.push_back((*at)->rank);
    (*at)->notes.push_back(*note);
  }
  while (flow_.woken() != nullptr) {
  }  // the user tries again at each poll
  std::erase_if(with_notes_, [&](int rank) { return send_notes_of(ranks_.at(rank)); });
}

bool LinkMessages::send_notes_of(Remote& to) {
  while (!to.notes.empty()) {
    if (to.lost) return true;
    const SendSlot slot = slots_.of_messages(to);
    if (slot.pair == nullptr || !requests_.send_again(to)) return false;
    std::byte* const buffer = requests_.take_buffer();
    if (buffer == nullptr) return false;
    const Flow::Note note = to.notes.front();
    to.notes.pop_front();
    send_credit(to, slot, note.room, note.body, buffer);
  }
  return true;
}

const std::byte* LinkMessages::send_question(Remote& remote) {
  const SendSlot slot = slots_.of_messages(remote);
  std::byte* const buffer = slot.pair != nullptr ? requests_.take_buffer() : nullptr;
  if (buffer == nullptr) return nullptr;
  const Room room = flow_.room_for_answer(remote.flow);
  if (room == Room::none) {
    requests_.give_back(buffer);
    return nullptr;
  }
  send_credit(remote, slot, room, Credit{}, buffer);
  return buffer;
}

void LinkMessages::on_ended(Remote& remote) {
  remote.notes.clear();
  if (remote.flow.connected()) flow_.disconnect(remote.flow);
}

// The message itself names its sender: on a connection of a node, every rank there may send.
void LinkMessages::receive(std::span<const std::byte> bytes, NetworkUser& user, std::byte* buffer) {
  const auto message = message_of(bytes);
  const int rank = message ? message->header.source : -1;
  Remote* const from =
      rank >= 0 && rank < world_.size && rank != world_.rank ? &ranks_.at(rank) : nullptr;
  std::uint32_t number = 0;
  if (from == nullptr || !from->flow.connected() || message->payload.size() < sizeof number)
    return receives_.post_again(buffer);
  const auto payload = message->payload.first(message->payload.size() - sizeof number);
  std::memcpy(&number, payload.data() + payload.size(), sizeof number);
  const Sequence::Seen seen = from->sequence.arrived(number);
  if (seen == Sequence::Seen::missing) ranks_.lose(*from, "a message of it is missing");
  if (seen != Sequence::Seen::next) return receives_.post_again(buffer);
  Header header = message->header;
  header.length = static_cast<std::uint32_t>(payload.size());
  std::optional<Credit> credit;
  if (header.kind == Kind::credit) credit = only_body_of<Credit>(payload);
  flow_.arrived(from->flow, header, credit ? &*credit : nullptr);
  if (header.kind == Kind::eager) {
    user.arrived(rank, header, payload);
    receives_.post_again(buffer);
    return flow_.reposted(from->flow, room_of(header));
  }
  std::array<std::byte, kMaxSaid> copied;
  const std::size_t size = std::min(payload.size(), copied.size());
  std::memcpy(copied.data(), payload.data(), size);
  receives_.post_again(buffer);
  flow_.reposted(from->flow, room_of(header));
  if (header.kind != Kind::credit) user.arrived(rank, header, std::span(copied).first(size));
}

}  // namespace scela::channel
