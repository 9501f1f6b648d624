#include "nla/core/mailbox.h"

#include <algorithm>

#include "common/core/bytes.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

// Of one message between ranks, held whole at the destination's agent. Bootstrap data, not bulk.
constexpr std::uint64_t kMaxMessage = std::uint64_t{1} << 30;
constexpr char kCutOff[] = "the agent that led to that rank was lost";

}  // namespace

void Mailbox::ask(Rank rank, RequestId id, const ask::Send& send) {
  const bool too_large = send.bytes.size() > kMaxMessage;
  if (too_large || !context_.job || send.destination >= context_.job->map.size()) {
    const std::string why = too_large ? std::string("a message is at most 1 GiB")
                                      : cat("rank ", send.destination, " is not in the job");
    context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
    return;
  }
  std::size_t offset = 0;
  do {
    const Chunk part = send.bytes.slice(offset, kMaxPiece);
    route(msg::Parcel{rank, send.destination, send.tag, send.bytes.size(), offset, part});
    offset += part.size();
  } while (offset < send.bytes.size());
  context_.act(action::Reply{rank, id, Response{}});
}

bool Mailbox::receive(const msg::Parcel& parcel) {
  if (!context_.job || parcel.source >= context_.job->map.size() || parcel.total > kMaxMessage ||
      parcel.offset > parcel.total || parcel.bytes.size() > parcel.total - parcel.offset) {
    return false;
  }
  route(parcel);
  return true;
}

bool Mailbox::apart(Rank one, Rank other) const {
  return std::any_of(islands_.begin(), islands_.end(), [&](const RankSet& island) {
    return island.contains(one) != island.contains(other);
  });
}

void Mailbox::route(const msg::Parcel& parcel) {
  // Who serves ranks asks again what was lost on its way (action::Reconnected).
  if (parcel.tag < kServiceTags && apart(parcel.source, parcel.destination)) return;
  if (context_.own_ranks.contains(parcel.destination)) return deliver(parcel);
  if (context_.subtree_ranks.contains(parcel.destination)) {
    if (const Child* child = children_.holding(parcel.destination)) {
      context_.send(child->link, parcel);
    }
    return;  // else lost since: nobody is left to read it
  }
  if (!context_.is_root()) context_.send_up(parcel);
}

// A piece that follows nothing is dropped: who has brought it may have come by it honestly.
void Mailbox::deliver(const msg::Parcel& parcel) {
  const bool service = parcel.tag >= kServiceTags;
  if (ended_.contains(parcel.destination) && !service) return;
  const Key key{parcel.destination, parcel.source, parcel.tag};
  Box& box = boxes_[key];
  if (parcel.offset == 0) box.partial.clear();  // the rest of one before was lost on its way
  if (parcel.offset != box.partial.size() || (parcel.offset > 0 && parcel.total != box.total)) {
    box.partial.clear();
    return;
  }
  box.total = parcel.total;
  if (parcel.bytes.size() == parcel.total) {
    box.messages.push_back(parcel.bytes);
  } else {
    box.partial += parcel.bytes.view();
    if (box.partial.size() < parcel.total) return;
    box.messages.emplace_back(std::exchange(box.partial, {}));
  }
  if (service) {
    serve(key, box.messages.front());
    boxes_.erase(key);
  } else {
    match(key, box);
  }
}

void Mailbox::serve(const Key& key, const Chunk& message) {
  const auto& [destination, source, tag] = key;
  ByteWriter from;
  from.varint(source);
  ByteWriter about;
  about.varint(tag);
  Response response;
  response.parts = {Chunk(from.take()), Chunk(about.take()), message};
  context_.act(action::Reply{destination, kUnasked, std::move(response)});
}

void Mailbox::match(const Key& key, Box& box) {
  while (!box.messages.empty() && !box.waiting.empty()) {
    Response response;
    response.parts.push_back(std::move(box.messages.front()));
    context_.act(action::Reply{std::get<0>(key), box.waiting.front(), std::move(response)});
    box.messages.pop_front();
    box.waiting.pop_front();
  }
}

void Mailbox::ask(Rank rank, RequestId id, const ask::Receive& receive) {
  const Key key{rank, receive.source, receive.tag};
  Box& box = boxes_[key];
  if (box.messages.empty() && failed_.contains(receive.source)) {
    const std::string why = cat("rank ", receive.source, " failed");
    context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
    return;
  }
  box.waiting.push_back(id);
  if (box.messages.empty() && apart(rank, receive.source)) return refuse(key, box, kCutOff);
  match(key, box);
}

void Mailbox::ranks_ended(const RankSet& ranks) {
  ended_.add(ranks);
  // What is for the node itself may be under way to any of its ranks.
  std::erase_if(boxes_, [&](const auto& box) {
    return ranks.contains(std::get<0>(box.first)) && std::get<2>(box.first) < kServiceTags;
  });
}

void Mailbox::peers_failed(const RankSet& ranks) {
  failed_.add(ranks);
  for (auto& [key, box] : boxes_) {
    if (!failed_.contains(std::get<1>(key))) continue;
    refuse(key, box, cat("rank ", std::get<1>(key), " failed"));
  }
}

void Mailbox::refuse(const Key& key, Box& box, const std::string& why) {
  for (const RequestId id : box.waiting) {
    context_.act(action::Reply{std::get<0>(key), id, Response{false, why, false, {}}});
  }
  box.waiting.clear();
}

void Mailbox::cut_off(const RankSet& ranks) {
  if (ranks.empty() || std::find(islands_.begin(), islands_.end(), ranks) != islands_.end()) return;
  islands_.push_back(ranks);
  for (auto& [key, box] : boxes_) {
    if (ranks.contains(std::get<0>(key)) == ranks.contains(std::get<1>(key))) continue;
    box.partial.clear();
    refuse(key, box, kCutOff);
  }
}

std::uint64_t Mailbox::held_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [key, box] : boxes_) {
    total += box.partial.size();
    for (const Chunk& message : box.messages)
      total += message.size();
  }
  return total;
}

}  // namespace scela::nla
