// The fabric is the connections to the engines of a job's other nodes. There is one TCP connection
// to each node that is used, made when it is first needed. The server owns the fabric, and the
// engine's one thread calls it. No function blocks but finish().
//
// The functions for the interpreter (node_of, ready, send) call nothing back. take() and attend(),
// which the loop calls, tell the interpreter what happens on connections.
//
// OwnNode says which node this is, and PeerLinks has the connections. Listener accepts those of
// other nodes, Strangers knows which of these have not proved the key yet, and Dialer begins those
// of this node. Fabric decides which connection of a node stays, and moves the frames.
//
// A connection begins with a greeting, in which both ends prove that they know its key
// (peer_greeting.h). After that it is established. A connection has a number (`id`) in PeerLinks.
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

// The connections of one engine. `now` is always the present time in nanoseconds.
class Fabric {
 public:
  // If so many bytes wait for a node, ready() returns false. The interpreter is told when half of
  // them have left.
  static constexpr std::size_t kFull = 1u << 20;
  // Frames are taken beyond kFull, because answers must not wait. If more bytes than this wait, the
  // connection is dropped: the other engine has asked for more than an engine may.
  static constexpr std::size_t kTooMuch = 64u << 20;

  // Makes the fabric and listens at the address in `record`, the description of the job.
  // `directory` answers what the record does not say; it may be absent. Returns an error if the
  // address cannot be listened at.
  static Result<std::unique_ptr<Fabric>> listen(const FabricRecord& record,
                                                Directory directory = {});
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  const OwnNode& own_node() const { return own_; }
  // Asks from now on that traffic between nodes is encrypted. Returns false if this node did not
  // ask for that before and has connections already.
  bool encrypt();
  // Begins to accept connections, and tells the directory where this node listens. `poller` and
  // `engine` must outlive this object. Returns false if the kernel refuses.
  bool join(TaggedPoller& poller, Engine& engine);

  // The interpreter calls these four through its machine (OtherNodes in hca/core/model/host.h). Its
  // node numbers are one more than those of the fabric. Returns the number of the node that an
  // address leads to, or std::nullopt if there is none.
  std::optional<std::uint32_t> node_of(const Gid& gid, bool is_global, std::uint16_t lid);
  // Returns the nodes that are connected, or that the description of the job names.
  std::vector<std::uint32_t> known_nodes() const;
  // Returns true if fewer than kFull bytes wait for the node. Otherwise the interpreter is told
  // once there is room again.
  bool ready(std::uint32_t node);
  // Sends a frame to the node, or keeps a copy until it can be sent. Connects first if need be.
  // Returns false if the node cannot be reached now.
  bool send(std::uint32_t node, std::span<const std::byte> header,
            std::span<const std::byte> payload, Moment now);

  // Handles the epoll events `events` on the connection with this number (0: the listening socket).
  void take(std::uint32_t id, std::uint32_t events, Moment now);
  // Handles the messages of the directory that are there. Returns false if the agent has closed its
  // end: the engine must then end.
  bool hear(Moment now);
  // Sends the frames that wait, and runs the timers that are due. The loop calls it after each run
  // of the interpreter. Returns true if the interpreter may have more to do.
  bool send_waiting(Moment now);
  // Returns the time at which attend() must be called even if no event comes, or std::nullopt if
  // there is none.
  std::optional<Moment> deadline() const { return timers_.deadline(); }
  // Returns true if there is a connection that is established, or that this node has begun.
  bool connected() const { return links_.size() > strangers_.size(); }
  // Called when this engine ends: sends what is left, and blocks for up to a second.
  void finish();

  // Returns the facts for `scela-hca --status`, as pairs of a name and a value.
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

  // Returns what is known about a node by the interpreter's number, or null if nothing is known.
  OtherNode* peer_of(std::uint32_t node);
  // Accepts the connections that wait. If there is no room, it stops listening for 50 ms.
  void accept_all(Moment now);
  // Returns true if another connection that has not proved itself may be accepted. If there are too
  // many, the oldest is dropped for it, unless that is young.
  bool make_room(Moment now);
  // These handle a connection that is not established. greet() continues its greeting. asked()
  // decides about a connection of another node that has proved itself. greeted() follows the other
  // node's verdict about one of this node.
  void greet(std::uint32_t id, PeerLink& link, Moment now);
  void follow_verdict(std::uint32_t id, PeerLink& link, Moment now);
  // Returns true if the other end closed the connection for a reason that is not worth a report.
  bool is_given_up(std::uint32_t id, const Greeting& greeting) const;
  void asked(std::uint32_t id, PeerLink& link, Moment now);
  // Makes this the connection to the node; the frames that wait are sent in the next attend().
  void establish(std::uint32_t id, PeerLink& link, std::uint32_t node);
  // Drops a connection that is not established, and reports `why`. If this node began it, the next
  // address is tried, or the node is given up.
  void fail_greeting(std::uint32_t id, const std::string& why, Moment now);
  // Reads once from an established connection, and passes whole frames to the interpreter.
  void read(std::uint32_t id, PeerLink& link, Moment now);
  // Sends what waits for the node. Tells the interpreter when there is room again after ready() has
  // returned false.
  void flush(OtherNode& peer);
  // Closes the connection and removes its timer. It reports nothing, and changes no OtherNode.
  void drop(std::uint32_t id);
  // Handles the end of an established connection. `why` is empty if the other engine closed it as
  // planned; nothing is reported then.
  void end(std::uint32_t id, const std::string& why, Moment now);
  // Drops the frames that wait for the node, and tells the interpreter that the node was lost.
  void drop_node(std::uint32_t node, OtherNode& peer, Moment now);
  // Carries out the action of a timer that is due.
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
  std::vector<std::uint32_t> dirty_;          // nodes with frames to send
  std::vector<std::uint32_t> broken_;         // links that could not be written to
  std::vector<std::byte> room_;               // for reads
  bool woke_ = false;                         // the interpreter was told something
  // Strangers have lines of their own, or those about nodes could be lost among them.
  LimitedReport nodes_report_, strangers_report_;
  Counts counts_;
};

}  // namespace scela::hca
