// Begins connections of this node to other nodes. It asks the directory, which is the agent of this
// node, where they listen and by which key. OtherNode has what it knows about a node (peer.h).
// Fabric has one, on the engine's one thread; no function blocks.
#pragma once

#include <cstdint>

#include "hca/engine/net/directory.h"
#include "hca/engine/net/fabric_timers.h"
#include "hca/engine/net/own_node.h"
#include "hca/engine/net/peer.h"
#include "hca/engine/net/peer_links.h"

namespace scela::hca {

// Connects to nodes, one address after the other.
class Dialer {
 public:
  // `directory` answers what the job's description does not say; it may be a default-constructed
  // one, which is absent. All references must live as long as this object.
  Dialer(Directory directory, const OwnNode& own, PeerLinks& links, FabricTimers& timers)
      : directory_(std::move(directory)), own_(own), links_(links), timers_(timers) {}

  // Waits for the directory's messages through the poller, and tells it where this node listens.
  // Returns false if the kernel refuses. Does nothing if there is no directory.
  bool begin(const TaggedPoller& poller) const;
  // Returns true if there is a directory.
  bool can_ask() const { return directory_.is_there(); }
  // Copies the directory's next message to `answer`, as Directory::hear() does.
  Directory::Received hear(Directory::Answer& answer) const { return directory_.hear(answer); }

  // These begin to reach the node with this number, at the time `now`. connect() tries its
  // addresses in turn, or asks the directory if none or no key is known. try_next() tries the
  // addresses that connect() has left, and ask() asks the directory. They return true if frames to
  // the node may wait. They return false if it cannot be reached now: frames are then lost.
  bool connect(std::uint32_t node, OtherNode& peer, Moment now);
  bool try_next(std::uint32_t node, OtherNode& peer, Moment now);
  bool ask(std::uint32_t node, OtherNode& peer, Moment now);
  // Notes the directory's answer about a node that it was asked for, and connects if frames wait.
  // Returns false if the frames are lost, because the node cannot be reached.
  bool take(const Directory::Answer& answer, OtherNode& peer, Moment now);

 private:
  Directory directory_;
  const OwnNode& own_;
  PeerLinks& links_;
  FabricTimers& timers_;
};

}  // namespace scela::hca
