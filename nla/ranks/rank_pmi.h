// The PMI connections of this node's ranks. These are inherited sockets, memory in their place
// (rank_pmi_ring.cpp), or connections that the ranks make to the node's port. Requests become
// events, and the replies are written to the ranks.
//
// Used by Ranks; runs on the shell's loop. pmi/server implements the protocol, and the core decides
// the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/io/poller.h"
#include "nla/ranks/rank_end.h"
#include "nla/ranks/ranks.h"
#include "pmi/server/rank_server.h"

namespace scela::nla {

// Number of questions whether a rank has left, and of the answer that it has. There is no answer
// that it has not, and neither message needs a reply of its own.
inline constexpr RequestId kLeftRequest = UINT64_MAX - 1;

class RankPmi final : pmi::JobServices, EndListener {
 public:
  // All references are borrowed. `poller` must have a value when the first rank is opened.
  RankPmi(const RanksHost& host, const Job& job, const RankSet& own, std::optional<Poller>& poller);
  ~RankPmi() override;
  RankPmi(const RankPmi&) = delete;
  RankPmi& operator=(const RankPmi&) = delete;

  // Opens the port to which ranks connect by themselves, if the job's protocol needs one. Returns
  // the port, or 0 if ranks inherit connections. `process` returns the process of a rank, or 0
  // while it does not run. To be called once, before a rank runs. Error (launch): no port is
  // available.
  Result<std::uint16_t> listen(const std::string& node, std::function<pid_t(Rank)> process);
  // Adds ranks. They must be the last ones of `own`.
  void add(const RankSet& more);
  // `connection` is the agent's end of the connection that a rank, the process `process`, has
  // inherited.
  void open(Rank rank, Fd connection, pid_t process);
  void reply(const action::Reply& reply);
  // Off: no requests are read.
  void set_reading(bool on);
  // The rank has ended. Reads its remaining requests first.
  void close(Rank rank);
  // Returns true if the rank has initialized PMI and has not finalized it.
  bool unfinished(Rank rank) const;
  // The rank has ended with a failure. An abort in its name that could not be verified is now
  // believed.
  void ended_badly(Rank rank);
  // Returns false if this reply is not about ranks that have left.
  bool heard(const action::Reply& reply);

 private:
  struct Connection;
  struct Port;
  struct Doorbell;

  Connection& of(Rank rank) const { return *connections_[own_.index_of(rank)]; }
  // The contract is in rank_end.h.
  void on_ready(Rank rank, int which, bool readable, bool writable) override;
  // Tells the poller what the connection waits for: requests if may_read(), room if output is left.
  void watch(Connection& one);
  // Reads and serves the bytes of one turn. At their end closes the connection, or goes on with the
  // rank's memory.
  void read(Connection& one);
  // Returns false while reading is off, the protocol wants no bytes, or the rank leaves too many
  // answers unread.
  bool may_read(const Connection& one) const;
  // Reads the bytes that are there now, and no later ones.
  void take_rest(Connection& one);
  // flush() takes new answers from the protocol server and calls write(). write() writes what the
  // socket or the memory takes now. The rest follows when there is room.
  void flush(Connection& one);
  void write(Connection& one);
  // Gives the core's reply to the protocol server of the rank.
  void answer(const action::Reply& reply);

  // Connections through memory.
  // Lends the rank memory for its requests. Returns false if the rank stays with its socket: a
  // process that it has started asks, answers are still queued, or the system refuses.
  bool lend_ring(Connection& one);
  // Makes the doorbells. Returns false if the system refuses.
  bool hang_doorbell();
  // Called when the doorbell has rung: serves the ranks that have written into their memory.
  void rung();
  // The rank has begun to use its memory. Reads the rest of its socket and closes it.
  void leave_socket(Connection& one);
  // One turn: takes the requests that are there, and writes the answers that fit.
  void serve_ring(Connection& one);
  void write_ring(Connection& one);
  // Reports the rank's violation. Its memory is not used any more.
  void spoilt(Connection& one);
  // end_ring() is for a rank that has ended: takes its last requests and closes the memory.
  // drop_ring() is for memory that could not be handed over: the rank stays with its socket.
  void end_ring(Connection& one);
  void drop_ring(Connection& one);

  // Connections through the port.
  // Returns the server of the protocol that the job's ranks speak.
  std::unique_ptr<pmi::RankServer> make_server(Rank rank);
  bool speaks_pmgr() const {
    return job_.pmi == PmiKind::pmgr || job_.pmi == PmiKind::pmgr_mvapich1;
  }
  // A rank has identified itself on this connection. `rest` is what followed its greeting.
  void check_in(Rank rank, Fd connection, const std::string& rest);
  // Reads what has come to the port until now. Does nothing if there is no port.
  void settle();
  // Aborts the job if an unverified abort in the name of the rank is known, else returns false.
  bool believe_claim(Rank rank);
  // Calls `verdict` after a second if the rank still runs then. If an abort in the name of the rank
  // is known, aborts at once instead.
  void doubt(Rank rank, std::function<void()> verdict);
  // The rank has closed its connection. If it has not finalized and runs on, this is a violation.
  void left_early(Connection& one);
  // Makes the kernel acknowledge the received bytes at once (TCP_QUICKACK).
  static void acknowledge(Connection& one);

  // The contract is in pmi/server/job_services.h. The core's answer has the request's `id`.
  pmi::JobFacts facts(Rank rank) const override;
  void put(Rank rank, pmi::RequestId id, std::string key, std::string value) override;
  void get(Rank rank, pmi::RequestId id, std::string key, bool wait) override;
  void fence(Rank rank, pmi::RequestId id) override;
  void group_fence(Rank rank, pmi::RequestId id, RankSet group, std::uint32_t tag) override;
  void exchange(Rank rank, pmi::RequestId id, std::string bytes) override;
  void put_node(Rank rank, pmi::RequestId id, std::string key, std::string value) override;
  void get_node(Rank rank, pmi::RequestId id, std::string key, bool wait) override;
  void publish(Rank rank, pmi::RequestId id, std::string name, std::string port) override;
  void lookup(Rank rank, pmi::RequestId id, std::string name) override;
  void unpublish(Rank rank, pmi::RequestId id, std::string name) override;
  void spawn(Rank rank, pmi::RequestId id, pmi::ask::Spawn request) override;
  void failed(Rank rank, pmi::RequestId id) override;
  void left(Rank rank, pmi::RequestId id, Rank about) override;
  void segment(Rank rank, pmi::RequestId id) override;
  void ring(Rank rank, pmi::RequestId id) override;
  void collective(Rank rank, pmi::RequestId id, pmi::Collective call) override;
  void abort(Rank rank, std::int32_t code, std::string message) override;
  void violation(Rank rank, std::string why) override;
  // Passes a request of the rank to the core. `name` is a literal for the trace; nullptr: it is not
  // traced, since no answer comes.
  void ask(Rank rank, pmi::RequestId id, const char* name, Request request);
  // Returns the key as it is called outside of the rank's world.
  std::string global(Rank rank, std::string_view key) const;
  // Returns the ranks of the world to which this rank belongs.
  RankSet world_of(Rank rank) const;

  const RanksHost& host_;
  const Job& job_;
  const RankSet& own_;
  std::optional<Poller>& poller_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by position in own_
  std::unique_ptr<Doorbell> own_doorbell_;                // rung by the agent only
  std::unique_ptr<Doorbell> doorbell_;                    // once a rank has asked for memory
  std::vector<Connection*> ringed_;                       // connections that have memory
  RankSet ended_;                                         // ranks of this node
  RankSet left_;                                          // ranks known to have left, of others
  bool reading_ = true;
  std::unique_ptr<Port> port_;  // none: ranks inherit
};

}  // namespace scela::nla
