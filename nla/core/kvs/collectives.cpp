#include "nla/core/kvs/collectives.h"

#include <algorithm>

#include "cache/store.h"
#include "common/core/text.h"
#include "nla/core/kvs/budget.h"
#include "nla/core/kvs/bulletin.h"
#include "nla/core/kvs/records.h"
#include "nla/core/wire/collective_kinds.h"
#include "nla/core/wire/message_pieces.h"
#include "nla/core/wire/packing.h"

namespace scela::nla {

namespace {

// The numbers of sets and tags may take this many bytes at one agent. A job has a handful of them.
// A rank that makes up new ones without end is refused.
constexpr std::uint64_t kMaxNumberedBytes = std::uint64_t{16} * 1024 * 1024;

// Operations that a child has begun and that are not over may take this many bytes for each of its
// nodes. That is room for about as many as the nodes' agents let their ranks number
// (kMaxNumberedBytes).
constexpr std::uint64_t kMaxBegunBytes = std::uint64_t{64} * 1024 * 1024;

// Returns what is wrong with this call alone, or an empty string if nothing is.
std::string complaint(Rank rank, const ask::Collective& call) {
  if (!call.set.contains(rank)) return cat("rank ", rank, " is not in the set ", call.set.text());
  if (has_root(call.kind) && !call.set.contains(call.root)) {
    return cat("the root ", call.root, " is not in the set ", call.set.text());
  }
  std::uint64_t parts = 0;
  switch (call.kind) {
    case CollectiveKind::barrier:
    case CollectiveKind::fence:
      break;
    case CollectiveKind::gather:
    case CollectiveKind::allgather:
      parts = 1;
      break;
    case CollectiveKind::broadcast:
      parts = rank == call.root ? 1 : 0;
      break;
    case CollectiveKind::scatter:
      parts = rank == call.root ? call.set.size() : 0;
      break;
    case CollectiveKind::alltoall:
      parts = call.set.size();
      break;
  }
  if (call.parts.size() == parts) return {};
  return cat(name_of(call.kind), " needs ", parts, " parts, rank ", rank, " gave ",
             call.parts.size());
}

// Returns true if a child's records are whole and come from its own members. Bytes that follow a
// record that is not whole would become part of it.
bool speaks_for(CollectiveKind kind, const RankSet& members, const Chunk& records) {
  if (kind == CollectiveKind::fence) return cache::for_each_pair(records.view(), [](auto, auto) {});
  if (!carries_records(kind)) return false;
  bool own = true;
  const bool whole = for_each_record(
      records, [&](const Record& record) { own = own && members.contains(record.source); });
  return whole && own;
}

}  // namespace

Collectives::Operations::iterator Collectives::open(const CollectiveId& id) {
  const auto [at, fresh] = operations_.try_emplace(id);
  if (!fresh) return at;
  Operation& op = at->second;
  const RankSet local = id.set.intersection(context_.own_ranks);
  op.missing = local.intersection(ended_ranks_);
  op.waiting_for = local.minus(op.missing);
  // These are ranks of added worlds, on nodes that had no agent any more when the world came.
  RankSet nowhere;
  if (!context_.job->worlds.empty()) {
    nowhere = id.set.intersection(context_.subtree_ranks).minus(local);
  }
  for (const Child& child : children_.all()) {
    const RankSet members = child.ranks.intersection(id.set);
    if (members.empty()) continue;
    nowhere.remove(members);
    if (!child.serving() || child.ended_ranks || child.adopted) {
      op.missing.add(members);
      if (child.adopted) op.mismatch = kCutOff;
    } else {
      op.open_children.push_back(child.link);
      op.member_children.push_back(child.link);
    }
  }
  op.missing.add(nowhere);
  if (cut_off_) leave_outside(at->first, op);
  return at;
}

void Collectives::leave_outside(const CollectiveId& id, Operation& op) {
  const RankSet outside = id.set.minus(context_.subtree_ranks);
  if (outside.empty() && !op.went_up) return;
  op.missing.add(outside);
  if (op.mismatch.empty()) op.mismatch = kCutOff;
}

void Collectives::cut_off() {
  if (std::exchange(cut_off_, true)) return;
  if (policy_ != nullptr) policy_->evict_no_more();
  for (auto at = operations_.begin(); at != operations_.end();) {
    const auto here = at++;
    leave_outside(here->first, here->second);
    if (here->second.sent_last) piece_down(here, {}, true);  // no last piece comes from above now
  }
}

void Collectives::agree(Operation& op, CollectiveKind kind, Rank root, const std::string& who) {
  if (!op.known) {
    op.known = true;
    op.kind = kind;
    op.root = root;
  } else if (op.kind != kind || (has_root(kind) && op.root != root)) {
    if (!op.mismatch.empty()) return;
    op.mismatch =
        cat(who, " called ", name_of(kind), has_root(kind) ? cat(" with root ", root) : "",
            ", others ", name_of(op.kind), has_root(op.kind) ? cat(" with root ", op.root) : "");
  }
}

// The numbers of a set and a tag are kept for the whole job.
bool Collectives::may_number(const ask::Collective& call) {
  if (next_seq_.contains({call.set, call.tag})) return true;
  const std::uint64_t bytes =
      bytes_of({call.set, 0, call.tag}) + call.set.intersection(context_.own_ranks).size() * 48;
  if (numbered_bytes_ + bytes > kMaxNumberedBytes) return false;
  numbered_bytes_ += bytes;
  return true;
}

void Collectives::ask(Rank rank, RequestId id, const ask::Collective& call) {
  if (const std::string wrong = complaint(rank, call); !wrong.empty()) {
    context_.act(action::Reply{rank, id, Response{false, wrong, false, {}}});
    return;
  }
  if (!may_number(call)) {
    const std::string why = "the ranks of this node have used too many groups and tags";
    context_.act(action::Reply{rank, id, Response{false, why, false, {}}});
    return;
  }
  const std::uint64_t seq = next_seq_[{call.set, call.tag}][rank]++;
  const auto at = open(CollectiveId{call.set, seq, call.tag});
  Operation& op = at->second;
  agree(op, call.kind, call.root, cat("rank ", rank));
  probe(at->first, op);
  op.callers.emplace_back(rank, id);
  if (carries_records(call.kind) && op.mismatch.empty()) contribute(op, at->first, call, rank);
  enter(at, RankSet::single(rank));
}

void Collectives::contribute(Operation& op, const CollectiveId& id, const ask::Collective& call,
                             Rank rank) {
  if (is_personal(call.kind)) {
    std::size_t part = 0;
    if (!call.parts.empty()) {
      id.set.for_each([&](Rank member) { add_record(op, id, rank, member, call.parts[part++]); });
    }
  } else if (!call.parts.empty()) {
    const std::uint32_t to = call.kind == CollectiveKind::gather ? call.root : kEverybody;
    add_record(op, id, rank, to, call.parts.front());
  }
}

void Collectives::add_record(Operation& op, const CollectiveId& id, Rank source,
                             std::uint32_t destination, const Chunk& payload) {
  for_each_piece(payload, kRecordPayload, [&](const Chunk& part, std::size_t offset, bool) {
    if (op.pending.size() + part.size() > kRecordPayload) flush(op, id);
    append_record(op.pending, source, destination, payload.size(), offset, part.view());
  });
}

void Collectives::flush(Operation& op, const CollectiveId& id) {
  if (op.pending.empty()) return;
  piece_up(op, id, {Chunk(std::exchange(op.pending, {})), false}, false);
}

// Makes children that have ended ranks open the operation, so that they report which ranks are
// missing.
void Collectives::probe(const CollectiveId& id, Operation& op) {
  if (!probing_ || !op.known) return;
  for (const LinkId link : op.open_children) {
    const Child* child = children_.find(link);
    if (child == nullptr || !child->some_ended || !child->serving()) continue;
    if (std::find(op.probed.begin(), op.probed.end(), link) != op.probed.end()) continue;
    op.probed.push_back(link);
    context_.send(link, msg::CollectiveDown{id, op.kind, op.root, false, {}, {}, Chunk()});
  }
}

void Collectives::child_has_ended_ranks() {
  probing_ = true;
  for (auto& [id, op] : operations_)
    probe(id, op);
}

void Collectives::enter(Operations::iterator at, const RankSet& ranks) {
  Operation& op = at->second;
  op.waiting_for.remove(ranks);
  advance(at);
}

void Collectives::ranks_ended(const RankSet& ranks) {
  ended_ranks_.add(ranks);
  for (auto at = operations_.begin(); at != operations_.end();) {
    const auto here = at++;  // advance() may erase it
    Operation& op = here->second;
    std::erase_if(op.callers, [&](const auto& caller) { return ranks.contains(caller.first); });
    const RankSet missing = op.waiting_for.intersection(ranks);
    if (missing.empty()) continue;
    op.missing.add(missing);
    enter(here, missing);
  }
}

void Collectives::child_ended(const Child& child) {
  for (auto at = operations_.begin(); at != operations_.end();) {
    const auto here = at++;
    Operation& op = here->second;
    std::erase(op.member_children, child.link);
    if (std::erase(op.open_children, child.link) == 0) continue;
    op.missing.add(child.ranks.intersection(here->first.set));
    advance(here);
  }
}

bool Collectives::may_contribute(Operation& op, Child& child, std::size_t bytes) const {
  if (child.contributed + bytes >
      kOverlappingBudgets * kRankBudget * context_.shares(child.ranks)) {
    return false;
  }
  child.contributed += bytes;
  op.contributed[child.link] += bytes;
  return true;
}

bool Collectives::may_begin(Child& child, const CollectiveId& id) {
  const std::uint64_t bytes = kBegunCost + 2 * bytes_of(id);
  if (child.begun_bytes + bytes > kMaxBegunBytes * child.slice.size()) return false;
  child.begun_bytes += bytes;
  open(id)->second.begun_by = child.link;
  return true;
}

bool Collectives::receive_up(Child& child, const msg::CollectiveUp& message) {
  if (child.adopted) return false;
  // A child speaks for its own ranks only, and cannot make this agent hold operations without
  // bound.
  const RankSet members = message.id.set.intersection(child.ranks);
  if (!is_valid(message)) return false;
  if (members.empty() || !members.contains_all(message.missing)) return false;
  if (message.id.set.ranges().back().last >= context_.job->map.size()) return false;
  if (!operations_.contains(message.id) && !may_begin(child, message.id)) return false;
  const auto at = open(message.id);
  Operation& op = at->second;
  const bool expected = std::find(op.open_children.begin(), op.open_children.end(), child.link) !=
                        op.open_children.end();
  if (!expected)
    return !child.serving() || child.ended_ranks || child.revived;  // a piece after its last
  // If all members of a subtree are missing, it does not know the kind, unless it brings something
  // that they had put before they ended.
  if (!message.last || !message.records.empty() ||
      message.missing != message.id.set.intersection(child.ranks)) {
    agree(op, message.kind, message.root, cat("a rank on ", context_.host(child.slice.first)));
    probe(at->first, op);
  }
  if (op.mismatch.empty()) op.mismatch = message.mismatch;
  op.missing.add(message.missing);
  op.clock = std::max(op.clock, message.clock);

  if (!message.records.empty() && op.mismatch.empty()) {
    Chunk records = message.records;
    if (message.packed) {
      std::optional<std::string> plain = unpack(records.view());
      if (!plain) return false;
      records = Chunk(std::move(*plain));
    }
    if (!speaks_for(op.kind, members, records)) return false;
    if (!may_contribute(op, child, records.size())) return false;
    const std::size_t came = records.size();
    if (op.kind == CollectiveKind::fence && policy_ != nullptr) {
      policy_->aggregate_passes(records.view());
      if (!bulletin_->spread(child.link, records)) return false;
    }
    if (op.pending.size() + records.size() > kRecordPayload) flush(op, at->first);
    if (records.size() > kRecordPayload / 2) {
      // A large piece goes on as it came, if all of it goes on.
      const bool all = records.size() == came;
      piece_up(op, at->first, all ? Piece{message.records, message.packed} : Piece{records, false},
               false);
    } else {
      op.pending += records.view();
    }
  }
  if (message.last) {
    std::erase(op.open_children, child.link);
    advance(at);
  }
  return true;
}

void Collectives::advance(Operations::iterator at) {
  Operation& op = at->second;
  if (op.sent_last || !op.waiting_for.empty() || !op.open_children.empty()) return;
  op.sent_last = true;
  if (op.kind == CollectiveKind::fence && policy_ != nullptr) {
    if (context_.own_ranks.intersects(at->first.set)) take_stage(op, at->first);
    bulletin_->send_spread();  // the release must follow the pairs
  }
  const Chunk rest(std::exchange(op.pending, {}));
  if (!is_top()) {
    piece_up(op, at->first, {rest, false}, true);
    return;
  }
  // The operation turns round here. What is still pending goes down with the last piece, which says
  // that all have entered.
  Chunk final_piece = goes_down(op) ? rest : Chunk();
  if (op.kind == CollectiveKind::fence && policy_ != nullptr && op.mismatch.empty()) {
    cache::for_each_piece(policy_->take_release(), kRecordPayload, [&](std::string_view pairs) {
      if (!final_piece.empty()) piece_down(at, packed(op, final_piece), false);
      final_piece = Chunk(std::string(pairs));
    });
  }
  piece_down(at, packed(op, final_piece), true);
}

// Pairs that are put from now on are newer than those that are taken here. The clock need not tick
// for fences of the whole job that do not overlap. So pairs need no stamp until a group has a
// fence.
void Collectives::take_stage(Operation& op, const CollectiveId& id) {
  Chunk own(policy_->take_stage());
  bulletin_->spread(kHere, own);
  add_pairs(op, id, own.view());
  op.carried = policy_->taken();
  cache::Store& table = policy_->table();
  const bool plain = id.tag == 0 && context_.job->is_everywhere(id.set);
  if (!plain || table.clock() > 0) table.tick();
  op.clock = std::max(op.clock, table.clock());
}

// This is asked at the agent where operations turn round. Returns true if contributions go down to
// the agents below.
bool Collectives::goes_down(const Operation& op) const {
  if (op.kind == CollectiveKind::barrier || !op.mismatch.empty()) return false;
  return op.kind != CollectiveKind::fence || policy_ == nullptr || policy_->release_carries_pairs();
}

void Collectives::add_pairs(Operation& op, const CollectiveId& id, std::string_view pairs) {
  cache::for_each_piece(pairs, kRecordPayload, [&](std::string_view piece) {
    if (op.pending.size() + piece.size() > kRecordPayload) flush(op, id);
    op.pending += piece;
  });
}

Collectives::Piece Collectives::packed(const Operation& op, Chunk records) {
  if (op.kind != CollectiveKind::fence) return {std::move(records), false};
  std::string fewer = pack(records.view());
  if (fewer.empty()) return {std::move(records), false};
  return {Chunk(std::move(fewer)), true};
}

void Collectives::piece_up(Operation& op, const CollectiveId& id, Piece piece, bool last) {
  const auto ready = [&] {
    return piece.packed ? std::move(piece) : packed(op, std::move(piece.bytes));
  };
  if (is_top()) {
    if (goes_down(op)) {
      if (const auto at = operations_.find(id); at != operations_.end()) {
        piece_down(at, ready(), false);
      }
    }
    return;
  }
  Piece sent = ready();
  msg::CollectiveUp up{id, op.kind, op.root, last, {}, {}, std::move(sent.bytes), sent.packed};
  if (last) {
    up.missing = op.missing;
    up.mismatch = op.mismatch;
    up.clock = clock_of(op);
  }
  op.went_up = true;
  context_.send_up(std::move(up));
}

std::uint64_t Collectives::held_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [id, op] : operations_) {
    total += op.pending.size();
    for (const Piece& piece : op.pieces)
      total += piece.bytes.size();
  }
  return total;
}

}  // namespace scela::nla
