// This process as one end of all its connections by a port: its address and options, the peers that
// it knows, the names of its queue pairs, the requests that wait for an answer, and the actions for
// the shell. Machine (connection_machine.h) owns one object. XrcSender, XrcReceiver and RcPairs
// work on it: each of them has the state of one kind of connection.
//
// The class decides nothing. It is a plain value and not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/handshake_timer.h"
#include "comm-channel/core/connect/peer_table.h"
#include "comm-channel/core/connect/qp_table.h"

namespace scela::channel::connect {

// The options of a machine.
struct Options {
  Mode mode = Mode::shared;
  std::uint64_t secret = 0;                         // the job's; other datagrams are dropped
  std::uint32_t ranks = 0;                          // size of the job; 0: any with the secret
  std::uint32_t srq = 0;                            // this process's SRQ number (XRC)
  std::uint8_t mtu = 3;                             // MTU of its port, as enum ibv_mtu
  std::uint8_t reads = 1;                           // RDMA reads its device answers at a time
  std::uint32_t max_links = 0;                      // links (RC: queue pairs); 0: any number
  Time first_wait = std::chrono::milliseconds(10);  // until a request is repeated; doubles
  Time longest_wait = std::chrono::seconds(1);
  std::uint8_t tries = 12;  // sends of a request before it is given up
};

class LocalEnd {
 public:
  // The life of this process as a peer of others.
  enum class Phase : std::uint8_t {
    open,     // makes and accepts connections
    leaving,  // event::Leave was given: connections are closed, and none is made
    left,     // action::Left was given: datagrams are ignored
  };

  LocalEnd(const PeerAddress& self, const Options& options)
      : self_(self),
        options_(options),
        timer_({options.first_wait, options.longest_wait, options.tries}) {}

  const PeerAddress& self() const { return self_; }
  const Options& options() const { return options_; }
  bool is_rc() const { return options_.mode == Mode::pairs; }
  Phase phase() const { return phase_; }
  void set_phase(Phase phase) { phase_ = phase; }
  bool is_leaving() const { return phase_ != Phase::open; }

  PeerTable& peers() { return peers_; }
  const PeerTable& peers() const { return peers_; }
  QpTable& qps() { return qps_; }
  const QpTable& qps() const { return qps_; }
  HandshakeTimer& timer() { return timer_; }
  const HandshakeTimer& timer() const { return timer_; }

  // Returns true if the datagram has the secret of the job and names a rank of the job.
  bool is_of_job(const Handshake& shake) const;
  // Returns true if the datagram is for this process in its present life, and from another process.
  bool is_addressed(const Handshake& shake) const;

  // The actions for the shell, in order. enqueue() appends one.
  std::vector<Action>& actions() { return actions_; }
  void enqueue(Action action) { actions_.push_back(std::move(action)); }
  // Sends one datagram, which is not repeated. `own` says that this process has chosen the number.
  // `rest` has the fields that depend on the kind.
  void send(PeerId peer, HandshakeKind kind, std::uint32_t number, bool own,
            const Handshake& rest = {});
  // Refuses the request of a peer.
  void refuse(PeerId peer, std::uint32_t number, Refusal why);
  // Closes a queue pair, and sets `qp` to kNone. Does nothing if it is kNone.
  void close(QpId& qp);
  // Takes the route to the peer away, and reports that messages for it fail.
  void fail_route(PeerId peer, Failure why);
  // Returns what a peer must know of a queue pair of this process.
  QpEnd end_of(std::uint32_t number, std::uint32_t psn) const {
    return {number, psn, options_.mtu, options_.reads};
  }

 private:
  PeerAddress self_;
  Options options_;
  Phase phase_ = Phase::open;
  PeerTable peers_;
  QpTable qps_;
  HandshakeTimer timer_;
  std::vector<Action> actions_;
};

// A part of a machine that works on the machine's LocalEnd. A copy works on the same one until it
// is attached to another.
class LocalEndUser {
 public:
  explicit LocalEndUser(LocalEnd& end) : end_(&end) {}
  void attach(LocalEnd& end) { end_ = &end; }

 protected:
  ~LocalEndUser() = default;
  LocalEndUser(const LocalEndUser&) = default;
  LocalEndUser& operator=(const LocalEndUser&) = default;
  LocalEnd& local() { return *end_; }
  const LocalEnd& local() const { return *end_; }

 private:
  LocalEnd* end_;
};

}  // namespace scela::channel::connect
