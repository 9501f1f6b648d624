// The PMI connection of one rank: a socket, or the memory that replaces it (rank_ring.h), with the
// server of the rank's protocol and the answers that the rank has not taken yet.
//
// Reads the rank's bytes when the poller or a doorbell says so, gives them to the server, and
// writes the answers. RankPmi owns the connections. They run on the shell's loop and never block.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nla/io/rank_end.h"
#include "nla/io/ranks_host.h"
#include "nla/pmi/answer_queue.h"
#include "nla/pmi/rank_doorbells.h"
#include "nla/pmi/rank_port.h"
#include "nla/pmi/rank_ring.h"
#include "pmi/server/rank_server.h"

namespace scela::nla {

// Objects that all connections of a node share. RankPmi owns them.
struct ConnectionContext {
  const RanksHost& host;
  std::optional<Poller>& poller;  // has a value when the first rank is opened
  RankDoorbells doorbells;
  std::unique_ptr<RankPort> port;  // nullptr: the ranks inherit their connections
  bool reading = true;             // false: no requests are read
};

class RankConnection final : EndListener, DoorbellListener {
 public:
  // `context` is borrowed. `server` speaks the rank's protocol. There is no socket yet.
  RankConnection(ConnectionContext& context, Rank rank, std::unique_ptr<pmi::RankServer> server)
      : context_(context), end_{*this, rank, 3}, server_(std::move(server)) {}
  RankConnection(const RankConnection&) = delete;
  RankConnection& operator=(const RankConnection&) = delete;

  // Begins to serve the rank, the process `process`, which has inherited its end of the connection.
  // `socket` is the agent's end.
  void open(Fd socket, pid_t process);
  // Begins to serve the rank on a connection that it has made to the node's port. Sends `greeting`
  // first, if it is not empty. `rest` are the bytes that followed the rank's own greeting; they are
  // served as its first requests.
  void check_in(Fd socket, std::string greeting, const std::string& rest);
  // Serves the requests that a rank has left behind, and closes the connection. Called when the
  // rank has ended.
  void close();

  // Returns the server of the rank's protocol.
  pmi::RankServer& server() { return *server_; }
  const pmi::RankServer& server() const { return *server_; }
  // Writes the answers that the server has and that the rank takes now. The rest follows when there
  // is room.
  void flush();
  // Tells the poller what the connection waits for. To be called when ConnectionContext::reading
  // has changed.
  void watch();

  // Prepare the descriptor of the node's segment, or those of a ring to use instead of the socket.
  // They go to the rank with the next byte that is written. Return true if they will; the server
  // then answers the rank that it gets them. The segment is offered once, to a rank on a local
  // socket with no answers queued. A ring is not lent if a process that the rank has started asks,
  // answers are queued, or the system refuses.
  bool offer_segment();
  bool lend_ring();

  // Note the time at which the core was given the request `id`, and write a span to the trace when
  // it has answered. `name`, a literal, is the span's name. An unknown id is ignored.
  void note_asked(RequestId id, const char* name);
  void note_answered(RequestId id);

 private:
  // The state of the offer of the segment to this rank. Descriptors are sent once, since those on
  // their way are counted for all processes of this user.
  enum class Offer : std::uint8_t {
    none,      // the segment was not offered
    segment,   // it was offered; the kernel does not name the process that sends requests
    may_lend,  // it was offered, and the kernel names the process, so that a ring may be lent
  };
  // A request that the core has not answered yet.
  struct Asked {
    const char* name = nullptr;  // name in the trace
    std::uint64_t since_ns = 0;
  };

  // Called by the poller (nla/io/rank_end.h): writes queued answers if the socket is writable, and
  // reads if it is readable.
  void on_ready(Rank rank, int which, bool readable, bool writable) override;
  // Called when any rank has rung (rank_doorbells.h): serves this rank's ring if it needs it.
  void rung() override;

  // Returns false while reading is off, the protocol wants no bytes, or the rank leaves too many
  // answers unread.
  bool may_read() const;
  // Reads at most one buffer of the socket, serves the requests in it, and writes the answers. At
  // the end of the stream closes the connection, or goes on with the rank's ring.
  void read();
  // Reads the bytes that are in the socket now, and no later ones.
  void take_rest();
  // Writes what the socket takes now.
  void write_socket();
  // Makes the kernel acknowledge the received bytes at once (TCP_QUICKACK).
  void acknowledge() const;
  // Called when the rank has closed its connection to the port. If it has not finalized and still
  // runs a second later, reports a violation.
  void left_early();
  // Makes the core end the job, because the rank broke its protocol. `why` is for the user.
  void violation(std::string why);

  // Returns true if answers go to the ring.
  bool uses_ring() const { return ring_ && ring_->state() != RankRing::State::lent; }
  bool is_spoilt() const { return ring_->state() == RankRing::State::spoilt; }
  // Serves the requests in the ring, at most one buffer, and writes the answers that fit. Begins to
  // use the ring if the rank has just taken it.
  void serve_ring();
  // Writes the queued answers that fit to the ring.
  void write_ring();
  // Reports the rank's violation. Its memory is not used any more.
  void report_spoilt();
  // Serves the last requests of a rank that has ended, and closes the ring.
  void end_ring();
  // Gives the ring up: its descriptors could not be sent, so the rank stays with its socket.
  void drop_ring();

  ConnectionContext& context_;
  RankEnd end_;
  std::unique_ptr<pmi::RankServer> server_;
  AnswerQueue answers_;
  pid_t process_ = 0;           // of the rank
  pid_t sender_ = 0;            // last writer's pid, if the kernel names it
  std::vector<int> hand_over_;  // descriptors to send with the next byte; borrowed
  Offer offer_ = Offer::none;
  std::unique_ptr<RankRing> ring_;
  std::map<RequestId, Asked> asked_;  // not answered yet
};

}  // namespace scela::nla
