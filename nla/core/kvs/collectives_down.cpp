// Results of collective operations come down here: an agent splits or forwards them, commits them,
// and answers its ranks.
#include "cache/store.h"
#include "common/core/text.h"
#include "nla/core/kvs/collectives.h"
#include "nla/core/kvs/records.h"
#include "nla/core/wire/collective_kinds.h"
#include "nla/core/wire/packing.h"

namespace scela::nla {

bool Collectives::receive_down(const msg::CollectiveDown& message) {
  if (cut_off_ || !is_valid(message)) return false;
  // Data may come before any rank here has entered. The last piece may come after all of them have
  // ended.
  const auto at = message.last ? operations_.find(message.id) : open(message.id);
  if (at == operations_.end()) return true;
  Operation& op = at->second;
  if (message.last && !op.sent_last) return false;
  agree(op, message.kind, message.root, "a rank elsewhere");
  if (!message.last && message.records.empty()) {
    probe(at->first, op);
    advance(at);
    return true;
  }
  if (message.last) {
    op.missing = message.missing;
    op.mismatch = message.mismatch;
    op.clock = message.clock;
  }
  return piece_down(at, {message.records, message.packed}, message.last);
}

bool Collectives::piece_down(Operations::iterator at, const Piece& piece, bool last) {
  Operation& op = at->second;
  if (is_personal(op.kind) && !piece.bytes.empty()) {
    if (!split_down(op, at->first, piece.bytes)) return false;
    if (last) forward_down(op, at->first, {}, true);
  } else {
    forward_down(op, at->first, piece, last);
    const bool others_ask =
        op.kind == CollectiveKind::fence && policy_ != nullptr && policy_->wants_release();
    const bool wanted = op.kind == CollectiveKind::gather
                            ? context_.own_ranks.contains(op.root)
                            : context_.own_ranks.intersects(at->first.set) || others_ask;
    if (wanted && !piece.bytes.empty()) op.pieces.push_back(piece);
  }
  if (last) complete(at);
  return true;
}

void Collectives::forward_down(Operation& op, const CollectiveId& id, const Piece& piece,
                               bool last) {
  for (const LinkId link : op.member_children) {
    const Child* child = children_.find(link);
    if (child == nullptr || !child->serving()) continue;
    const bool off_path = op.kind == CollectiveKind::gather && !child->ranks.contains(op.root);
    if (off_path && !last) continue;
    msg::CollectiveDown down{id, op.kind, op.root, last, {}, {}, Chunk()};
    if (!off_path) {
      down.records = piece.bytes;
      down.packed = piece.packed;
    }
    if (last) {
      down.missing = op.missing;
      down.mismatch = op.mismatch;
      down.clock = clock_of(op);
    }
    context_.send(link, std::move(down));
  }
}

bool Collectives::split_down(Operation& op, const CollectiveId& id, const Chunk& records) {
  std::map<LinkId, std::string> parts;  // kParentLink: for this node
  const bool well_formed = for_each_record(records, [&](const Record& record) {
    LinkId to = kParentLink;
    if (!context_.own_ranks.contains(record.destination)) {
      const Child* child = children_.child_with_rank(record.destination);
      if (child == nullptr || child->adopted) return;  // lost since
      to = child->link;
    }
    append_record(parts[to], record.source, record.destination, record.total, record.offset,
                  record.bytes.view());
  });
  if (!well_formed) return false;
  for (auto& [link, bytes] : parts) {
    if (link == kParentLink) {
      op.pieces.push_back({Chunk(std::move(bytes)), false});
    } else {
      context_.send(
          link, msg::CollectiveDown{id, op.kind, op.root, false, {}, {}, Chunk(std::move(bytes))});
    }
  }
  return true;
}

void Collectives::commit(Operation& op, const CollectiveId& id) {
  for (Piece& piece : op.pieces) {
    const std::optional<std::string> plain =
        piece.packed ? unpack(piece.bytes.view()) : std::nullopt;
    if (piece.packed && !plain) {
      op.mismatch = "a part of what it carried was damaged";
      return;
    }
    policy_->commit(plain ? std::string_view(*plain) : piece.bytes.view());
    piece = {};  // the table holds it: free this copy
  }
  committed_ = true;
  policy_->table().saw(op.clock);
  // The tag does not matter: every fence takes along all that is not settled, and says up to where.
  if (context_.job->is_everywhere(id.set)) {
    policy_->fence_done(op.carried);
  } else {
    policy_->group_fence_done(op.carried);
  }
}

void Collectives::complete(Operations::iterator at) {
  Operation& op = at->second;
  if (op.kind == CollectiveKind::fence && policy_ != nullptr && op.missing.empty() &&
      op.mismatch.empty()) {
    commit(op, at->first);
  }
  answer(at->first, op);
  for (const auto& [link, bytes] : op.contributed) {
    if (Child* const child = children_.find(link)) child->contributed -= bytes;
  }
  if (op.begun_by != kParentLink) {
    if (Child* const child = children_.find(op.begun_by))
      child->begun_bytes -= kBegunCost + 2 * bytes_of(at->first);
  }
  operations_.erase(at);
}

void Collectives::answer(const CollectiveId& id, Operation& op) {
  Response response;
  if (!op.mismatch.empty()) {
    response.ok = false;
    response.error = op.mismatch;
    response.disagreement = op.mismatch != kCutOff;
  } else if (!op.missing.empty()) {
    response.ok = false;
    response.error = cat("rank", op.missing.size() == 1 ? " " : "s ", op.missing.text(),
                         " ended without taking part in the ", name_of(op.kind));
  }
  std::map<std::pair<std::uint32_t, Rank>, Assembly> parts;  // (destination, source)
  if (response.ok && carries_records(op.kind)) {
    for (const Piece& piece : op.pieces) {
      for_each_record(piece.bytes, [&](const Record& record) {
        Assembly& part = parts[{record.destination, record.source}];
        part.total = record.total;
        part.have += record.bytes.size();
        if (record.bytes.size() == record.total) {
          part.whole = record.bytes;
        } else {
          part.partial += record.bytes.view();  // pieces of one source stay in order
        }
      });
    }
    for (auto& [key, part] : parts) {
      if (part.have != part.total) {
        response.ok = false;
        response.error = cat("part of the contribution of rank ", key.second, " was lost");
      }
      if (!part.partial.empty()) part.whole = Chunk(std::move(part.partial));
    }
  }
  for (const auto& [rank, request] : op.callers) {
    Response mine = response;
    const bool receives = op.kind != CollectiveKind::gather || rank == op.root;
    if (response.ok && carries_records(op.kind) && receives) {
      const std::uint32_t to =
          is_personal(op.kind) || op.kind == CollectiveKind::gather ? rank : kEverybody;
      const auto take = [&](Rank source) {
        const auto part = parts.find({to, source});
        if (part != parts.end()) {
          mine.parts.push_back(part->second.whole);
        } else if (mine.ok) {
          mine.ok = false;
          mine.error = cat("the contribution of rank ", source, " was lost");
        }
      };
      if (op.kind == CollectiveKind::broadcast || op.kind == CollectiveKind::scatter) {
        take(op.root);
      } else {
        id.set.for_each(take);
      }
    }
    if (!mine.ok) mine.parts.clear();
    context_.act(action::Reply{rank, request, std::move(mine)});
  }
}

}  // namespace scela::nla
