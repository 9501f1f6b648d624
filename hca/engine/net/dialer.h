// Begins connections of this node to other nodes, and asks the directory where they listen and by
// which key. What it knows about a node stands with the node (peer.h). Fabric has one, on the
// engine's one thread.
#pragma once

#include <cstdint>

#include "hca/engine/net/directory.h"
#include "hca/engine/net/fabric_timers.h"
#include "hca/engine/net/own_node.h"
#include "hca/engine/net/peer.h"
#include "hca/engine/net/peer_links.h"

namespace scela::hca {

class Dialer {
 public:
  // `directory` answers what the job's record leaves open; it may be absent. All references must
  // live as long as this object.
  Dialer(Directory directory, const OwnNode& own, PeerLinks& links, FabricTimers& timers)
      : directory_(std::move(directory)), own_(own), links_(links), timers_(timers) {}

  // Waits for the directory's messages, and tells it where this node listens. Returns false on
  // failure.
  bool begin(const TaggedPoller& poller) const;
  bool can_ask() const { return directory_.is_there(); }
  // Returns the directory's next message (Directory::hear).
  Directory::Came hear(Directory::Answer& answer) const { return directory_.hear(answer); }

  // These begin to reach a node. connect() begins a round of its addresses, or asks for one.
  // try_next() tries the next address of the round, and ask() asks the directory. They return
  // true if frames to the node may wait. They return false if it cannot be reached now: frames are
  // then lost.
  bool connect(std::uint32_t node, OtherNode& peer, Moment now);
  bool try_next(std::uint32_t node, OtherNode& peer, Moment now);
  bool ask(std::uint32_t node, OtherNode& peer, Moment now);
  // Takes the directory's answer about a node that it was asked for, and connects if frames wait.
  // Returns false if they are lost.
  bool take(const Directory::Answer& answer, OtherNode& peer, Moment now);

 private:
  Directory directory_;
  const OwnNode& own_;
  PeerLinks& links_;
  FabricTimers& timers_;
};

}  // namespace scela::hca
