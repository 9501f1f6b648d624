#include "nla/core/kvs/mailbox.h"

#include <algorithm>
#include <iterator>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "nla/core/kvs/budget.h"
#include "nla/core/wire/message_pieces.h"

namespace scela::nla {

namespace {

// A message takes this many bytes at its agent beside its own, if it is whole or has only begun.
constexpr std::size_t kBoxCost = 1536;
std::uint64_t max_of(std::uint32_t tag) {
  return tag >= kServiceTags ? kMaxMessage : kMaxRankMessage;
}
static_assert(kMaxMessage <= kMaxPartialOfNode);
static_assert(kMaxRankMessage + kBoxCost <= kMaxUnreceivedOfNode);
constexpr char kRankCutOff[] = "the agent that led to that rank was lost";

}  // namespace

void Mailbox::ask(Rank rank, RequestId id, const ask::Send& send) {
  const bool too_large = send.bytes.size() > max_of(send.tag);
  if (too_large || !context_.job || send.destination >= context_.job->map.size()) {
    const std::string why = too_large
                                ? cat("a message is at most ", max_of(send.tag) >> 20, " MiB long")
                                : cat("rank ", send.destination, " is not in the job");
    context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
    return;
  }
  for_each_piece(send.bytes, kMaxPiece, [&](const Chunk& part, std::size_t offset, bool) {
    route(msg::RoutedMessage{rank, send.destination, send.tag, send.bytes.size(), offset, part});
  });
  context_.act(action::Reply{rank, id, Response{}});
}

bool Mailbox::receive(const msg::RoutedMessage& routed) {
  if (!context_.job || routed.source >= context_.job->map.size() ||
      routed.total > max_of(routed.tag) || routed.offset > routed.total ||
      routed.bytes.size() > routed.total - routed.offset) {
    return false;
  }
  route(routed);
  return true;
}

bool Mailbox::are_cut_off(Rank one, Rank other) const {
  return std::any_of(islands_.begin(), islands_.end(), [&](const RankSet& island) {
    return island.contains(one) != island.contains(other);
  });
}

void Mailbox::route(const msg::RoutedMessage& routed) {
  // Messages with a service tag pass: the servers of ranks ask again for what was lost on its way
  // (action::Reconnected).
  if (routed.tag < kServiceTags && are_cut_off(routed.source, routed.destination)) return;
  if (context_.own_ranks.contains(routed.destination)) return deliver(routed);
  if (context_.subtree_ranks.contains(routed.destination)) {
    if (const Child* child = children_.child_with_rank(routed.destination)) {
      context_.send(child->link, routed);
    }
    return;  // else the agent of the rank was lost
  }
  if (!context_.is_root()) context_.send_up(routed);
}

// A piece that follows no other piece is dropped. The child or parent that sent it may be honest,
// so its link goes on.
void Mailbox::deliver(const msg::RoutedMessage& routed) {
  const bool service = routed.tag >= kServiceTags;
  if (!service &&
      (ended_.contains(routed.destination) || was_dropped(routed.destination, routed.source))) {
    return;
  }
  const Key key{routed.destination, routed.source, routed.tag};
  Box& box = boxes_[key];
  const bool follows = routed.offset == box.partial.size() && routed.total == box.total;
  // If an earlier message has begun, its rest was lost on its way.
  if (routed.offset == 0 || !follows) drop_partial(key, box);
  if (routed.offset > 0 && !follows) return forget_idle(key);
  Chunk message = routed.bytes;
  if (routed.bytes.size() < routed.total) {
    add_partial(key, box, routed);
    if (box.partial.size() < routed.total) return;
    message = Chunk(std::move(box.partial));
    drop_partial(key, box);
  }
  if (service) {
    serve(key, message);
    boxes_.erase(key);
    return;
  }
  if (box.waiting.empty() && !may_wait(routed.source, message)) {
    dropped_[routed.destination].add(routed.source);
    return forget_idle(key);
  }
  waits(routed.source, message);
  box.messages.push_back(std::move(message));
  match(key, box);
  forget_idle(key);
}

std::uint64_t Mailbox::cost_of(const Chunk& message) {
  return message.size() + kBoxCost;
}

bool Mailbox::may_wait(Rank source, const Chunk& message) {
  const std::uint64_t cost = cost_of(message);
  return unreceived_ + cost <= max_.unreceived &&
         unreceived_of_[node_of(source)] + cost <= max_.unreceived_of_node;
}

void Mailbox::waits(Rank source, const Chunk& message) {
  unreceived_ += cost_of(message);
  unreceived_of_[node_of(source)] += cost_of(message);
}

void Mailbox::waits_no_more(Rank source, const Chunk& message) {
  unreceived_ -= cost_of(message);
  unreceived_of_[node_of(source)] -= cost_of(message);
}

bool Mailbox::was_dropped(Rank destination, Rank source) const {
  const auto at = dropped_.find(destination);
  return at != dropped_.end() && at->second.contains(source);
}

// The message that has waited longest for its rest gives way, because that rest will hardly come
// any more. Messages of the same node give way first.
void Mailbox::add_partial(const Key& key, Box& box, const msg::RoutedMessage& routed) {
  const std::size_t added = routed.bytes.size() + (box.turn == 0 ? kBoxCost : 0);
  const std::uint32_t node = node_of(routed.source);
  if (box.turn != 0) {
    partials_.erase(box.turn);
    begun_of_[node].turns.erase(box.turn);
  }
  // A reference into a map of nodes stays good while others are added and removed.
  Begun& same = begun_of_[node];
  while (same.bytes + added > max_.partial_of_node && !same.turns.empty()) {
    drop_oldest(*same.turns.begin());
  }
  while (partial_bytes_ + added > max_.partial && !partials_.empty()) {
    drop_oldest(partials_.begin()->first);
  }
  box.turn = next_turn_++;
  partials_.emplace(box.turn, key);
  same.turns.insert(box.turn);
  box.total = routed.total;
  box.partial += routed.bytes.view();
  box.counted += added;
  same.bytes += added;
  partial_bytes_ += added;
}

void Mailbox::drop_oldest(std::uint64_t turn) {
  const Key oldest = partials_.at(turn);
  drop_partial(oldest, boxes_.at(oldest));
  forget_idle(oldest);
}

void Mailbox::drop_partial(const Key& key, Box& box) {
  if (box.turn == 0) return;
  Begun& same = begun_of_[node_of(std::get<1>(key))];
  same.turns.erase(box.turn);
  same.bytes -= box.counted;
  partials_.erase(std::exchange(box.turn, 0));
  partial_bytes_ -= std::exchange(box.counted, 0);
  box.partial = {};
}

void Mailbox::forget_idle(const Key& key) {
  const auto at = boxes_.find(key);
  const Box& box = at->second;
  if (box.turn == 0 && box.messages.empty() && box.waiting.empty()) boxes_.erase(at);
}

void Mailbox::drop(const Key& key, Box& box) {
  drop_partial(key, box);
  for (const Chunk& message : std::exchange(box.messages, {}))
    waits_no_more(std::get<1>(key), message);
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
    waits_no_more(std::get<1>(key), box.messages.front());
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
    return forget_idle(key);
  }
  if (box.messages.empty() && was_dropped(rank, receive.source)) {
    const std::string why = cat("messages of rank ", receive.source, " to rank ", rank,
                                " were dropped: too many waited to be received on its node");
    context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
    return forget_idle(key);
  }
  box.waiting.push_back(id);
  if (box.messages.empty() && are_cut_off(rank, receive.source)) {
    refuse(key, box, kRankCutOff);
  } else {
    match(key, box);
  }
  forget_idle(key);
}

void Mailbox::ranks_ended(const RankSet& ranks) {
  ended_.add(ranks);
  // Messages for the node itself stay: they may be addressed to any of its ranks.
  for (auto at = boxes_.begin(); at != boxes_.end();) {
    const auto& [destination, source, tag] = at->first;
    const bool over = ranks.contains(destination) && tag < kServiceTags;
    if (over) drop(at->first, at->second);
    at = over ? boxes_.erase(at) : std::next(at);
  }
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
    if (std::get<2>(key) >= kServiceTags) continue;
    drop_partial(key, box);
    refuse(key, box, kRankCutOff);
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
