// The connections to the engines of a job's other nodes: one TCP connection to each node that is
// used, made when it is first needed. The server owns the fabric, and the engine's one thread calls
// it.
//
// The functions for the interpreter (node_of, ready, send) call nothing back. take() and attend(),
// which the loop calls, tell the interpreter what happens on connections.
//
// OwnNode says which node this is, and PeerLinks has the connections. Listener accepts those of
// other nodes, Strangers knows which of these are not proved, and Dialer begins those of this node.
// Fabric decides which connection of a node stays, and moves the frames.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hca/core/model/engine.h"
#include "hca/engine/io/limited_report.h"
#include "hca/engine/io/tagged_poller.h"
#include "hca/engine/net/dialer.h"
#include "hca/engine/net/fabric_timers.h"
#include "hca/engine/net/listener.h"
#include "hca/engine/net/own_node.h"
#include "hca/engine/net/peer.h"
#include "hca/engine/net/peer_links.h"
#include "hca/engine/net/strangers.h"

namespace scela::hca {

class Fabric {
 public:
  // Above this many bytes, no other frame is taken for a node; the interpreter is told at half of
  // it.
  static constexpr std::size_t kFull = 1u << 20;
  // Answers are always taken. More bytes of them than this is more than an engine can have asked
  // for.
  static constexpr std::size_t kTooMuch = 64u << 20;

  // Listens, and returns an error if that fails. `directory` answers what the record leaves open;
  // it may be absent.
  static Result<std::unique_ptr<Fabric>> listen(const FabricRecord& record,
                                                Directory directory = {});
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  const OwnNode& own_node() const { return own_; }
  // Wishes from now on that traffic between nodes is encrypted. Returns false if this node did not
  // wish so before and has connections already.
  bool encrypt();
  // Begins to accept connections, and tells the directory. `poller` and `engine` must outlive this
  // object. Returns false on failure.
  bool join(TaggedPoller& poller, Engine& engine);

  // These are for the interpreter's machine. Its node numbers are one more than those of the
  // fabric. Their contract is in hca/core/model/host.h.
  std::optional<std::uint32_t> node_of(const Gid& gid, bool is_global, std::uint16_t lid);
  std::vector<std::uint32_t> known_nodes() const;
  bool ready(std::uint32_t node);
  bool send(std::uint32_t node, std::span<const std::byte> header,
            std::span<const std::byte> payload, Moment now);

  // Handles an event on the connection with this number (0: the listening socket).
  void take(std::uint32_t id, std::uint32_t events, Moment now);
  // Handles a message of the directory. Returns false at its end.
  bool hear(Moment now);
  // Sends what waits, and does what is due. Returns true if the interpreter may have more to do.
  bool attend(Moment now);
  // Returns the time of the next attend() if nothing comes before, or std::nullopt if nothing is
  // due.
  std::optional<Moment> deadline() const { return timers_.deadline(); }
  // Returns true if there is a connection that is established, or that this node has begun.
  bool connected() const { return links_.size() > strangers_.size(); }
  // Sends what is left, for a short time, since this engine ends. It may block for up to a second.
  void finish();

  // Returns pairs of a name and a value for --status.
  std::vector<std::pair<std::string, std::string>> status() const;

 private:
  struct Counts {
    std::uint64_t frames_out = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t frames_in = 0;
    std::uint64_t bytes_in = 0;
    // These count lost nodes, refused connections of strangers, and encrypted connections that
    // were changed on their way.
    std::uint64_t lost = 0;
    std::uint64_t refused = 0;
    std::uint64_t changed = 0;
  };

  Fabric(const FabricRecord& record, Directory directory, Listener listener);

  // Returns null if nothing is known about the node.
  OtherNode* peer_of(std::uint32_t node);  // by the interpreter's number
  // Accepts the connections that wait. If there is no room, it stops listening for 50 ms.
  void accept_all(Moment now);
  // Returns true if another connection that has not proved itself may be accepted. For it, the
  // oldest may be dropped.
  bool make_room(Moment now);
  // These handle a connection that is not established. greet() continues its greeting, asked()
  // decides about one of another node, greeted() follows the decision about one of this node.
  void greet(std::uint32_t id, PeerLink& link, Moment now);
  void greeted(std::uint32_t id, PeerLink& link, Moment now);
  // Returns true if the other end hung up for a reason that is not worth a report.
  bool is_given_up(std::uint32_t id, const Greeting& greeting) const;
  void asked(std::uint32_t id, PeerLink& link, Moment now);
  // Makes this the connection to the node, and sends what waits at the end of this turn.
  void stand(std::uint32_t id, PeerLink& link, std::uint32_t node);
  // Drops a connection that is not established. If this node began it, the next address is tried,
  // or the node is given up.
  void fail_greeting(std::uint32_t id, const std::string& why, Moment now);
  // Reads once, and passes whole frames to the interpreter.
  void read(std::uint32_t id, PeerLink& link, Moment now);
  // Sends what waits for the node, and tells the interpreter when there is room again.
  void flush(OtherNode& peer);
  // Closes the connection and removes its timer. It reports nothing, and changes no OtherNode.
  void drop(std::uint32_t id);
  // Handles the end of an established connection. `why` is empty if the other engine closed it as
  // planned; nothing is reported then.
  void end(std::uint32_t id, const std::string& why, Moment now);
  // Gives up the frames that wait for the node. The interpreter is told that the node was lost.
  void lose(std::uint32_t node, OtherNode& peer, Moment now);
  void run_timer(const FabricTimers::Timer& timer, Moment now);
  // Connects to the node again if frames wait. After their time it gives them up.
  void retry(std::uint32_t node, Moment now);

  OwnNode own_;
  Listener listener_;
  PeerLinks links_;
  Strangers strangers_;
  FabricTimers timers_;
  Dialer dialer_;
  const TaggedPoller* poller_ = nullptr;
  Engine* engine_ = nullptr;
  std::map<std::uint32_t, OtherNode> peers_;  // by node
  std::vector<std::uint32_t> dirty_;          // nodes
  std::vector<std::uint32_t> broken_;         // links that could not be written to
  std::vector<std::byte> room_;
  bool woke_ = false;  // the interpreter was told something
  // Strangers have lines of their own, or those about nodes could be lost among them.
  LimitedReport nodes_report_, strangers_report_;
  Counts counts_;
};

}  // namespace scela::hca
