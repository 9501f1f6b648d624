// The names (QpId) of a machine's queue pairs, and what each is used for. LocalEnd (local_end.h)
// owns one; Machine (connection_machine.h) finds in it the part to which an answer about a queue
// pair belongs.
//
// A name is used again after its queue pair was closed. The table is a plain value and not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm-channel/core/connect/peer_table.h"

namespace scela::channel::connect {

enum class QpUse : std::uint8_t {
  none,    // the QpId is free
  link,    // XRC: the send queue pair for a node
  target,  // XRC: a receive queue pair that a peer sends through
  pair,    // RC: the queue pair for a peer
};
struct QpOwner {
  QpUse use = QpUse::none;
  std::uint32_t index = 0;  // a NodeIndex (link) or a PeerId
};

class QpTable {
 public:
  // Returns a free name, the lowest one. The caller enqueues the action that creates the queue
  // pair.
  QpId allocate(QpUse use, std::uint32_t index) {
    const auto free = std::ranges::find(owners_, QpUse::none, &QpOwner::use);
    const auto qp = static_cast<QpId>(free - owners_.begin());
    if (free == owners_.end()) owners_.emplace_back();
    owners_[qp] = {use, index};
    ++(use == QpUse::target ? targets_ : connections_);
    return qp;
  }
  // Makes a name free that allocate() has returned.
  void release(QpId qp) {
    --(owners_[qp].use == QpUse::target ? targets_ : connections_);
    owners_[qp] = {};
  }
  // Returns QpUse::none for a name that is free or was never used.
  QpOwner owner(QpId qp) const { return qp < owners_.size() ? owners_[qp] : QpOwner{}; }

  // Returns the number of links and pairs. targets() returns the number of receive queue pairs.
  std::uint32_t connections() const { return connections_; }
  std::uint32_t targets() const { return targets_; }

 private:
  std::vector<QpOwner> owners_;  // by QpId
  std::uint32_t connections_ = 0, targets_ = 0;
};

}  // namespace scela::channel::connect
