// The PMI connections of this node's ranks. These are inherited sockets, memory in their place, or
// connections that the ranks make to the node's port. Requests become events, and the replies are
// written to the ranks.
//
// Used by Ranks; runs on the shell's loop. pmi/server implements the protocol, and the core decides
// the answers. rank_connection.h has one connection, rank_port.h the port.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/core/tree/actions.h"
#include "nla/io/poller.h"
#include "nla/io/ranks_host.h"
#include "nla/pmi/left_ranks.h"
#include "nla/pmi/rank_connection.h"
#include "nla/pmi/rank_facts.h"
#include "pmi/server/job_services.h"

namespace scela::nla {

class RankPmi final : pmi::JobServices {
 public:
  // All references are borrowed. `own` are the ranks of this node, numbered as in the whole job.
  // `poller` must have a value when the first rank is opened.
  RankPmi(const RanksHost& host, const Job& job, const RankSet& own, std::optional<Poller>& poller);

  // Opens the port to which ranks connect by themselves, if the job's protocol needs one. Returns
  // the port's number, or 0 if ranks inherit connections. Warnings call this node `node`. `process`
  // returns the process of a rank, or 0 while it does not run. To be called once, before a rank
  // runs. Error (launch): no port is available.
  Result<std::uint16_t> listen(const std::string& node, std::function<pid_t(Rank)> process);
  // Adds ranks that were spawned on this node. They must be the last ones of `own` already.
  void add(const RankSet& more);
  // Begins to serve a rank, the process `process`, which has inherited its end of a connection.
  // `connection` is the agent's end; it is closed if ranks connect to the port.
  void open(Rank rank, Fd connection, pid_t process);
  // Passes the core's answer on to the rank that asked (nla/core/tree/actions.h). If it says that
  // ranks disagree, and ranks connect to the port, it may be delayed by a second.
  void reply(const action::Reply& reply);
  // Stops or resumes the reading of requests of all ranks. They are read at first.
  void set_reading(bool on);
  // Serves the remaining requests of a rank that has ended, and closes its connection.
  void close(Rank rank);
  // Returns true if the rank has initialized PMI and has not finalized it.
  bool unfinished(Rank rank) const { return of(rank).server().unfinished(); }
  // Called when the rank has ended with a failure: aborts the job if an abort in its name had come
  // to the port and its sender could not be verified.
  void ended_badly(Rank rank);
  // Handles `reply` if it is a message between agents about ranks that have left. Returns false if
  // it is another one.
  bool heard(const action::Reply& reply) { return left_.heard(reply); }

 private:
  // Returns the connection of a rank of this node.
  RankConnection& of(Rank rank) const { return *connections_[own_.index_of(rank)]; }
  // Returns true if the job's ranks speak PMGR, and false if they speak PMI-1 or PMI-2.
  bool speaks_pmgr() const;
  // Returns a server of the protocol that the job's ranks speak.
  std::unique_ptr<pmi::RankServer> make_server(Rank rank);
  // Gives the core's reply to the protocol server of the rank.
  void answer(const action::Reply& reply);

  // The contract is in pmi/server/job_services.h: these serve the protocol servers of the ranks.
  // facts() returns what a session knows of the job. submit() emits event::Asked to the core; the
  // core's answer has the same `id` and comes by reply(). The others answer at once.
  pmi::JobFacts facts(Rank rank) const override { return facts_of(job_, own_, rank); }
  void submit(Rank rank, RequestId id, Request request) override;
  bool offer_segment(Rank rank) override;
  bool lend_ring(Rank rank) override;
  bool has_left(Rank asker, Rank about) override { return left_.has_left(asker, about); }

  const Job& job_;
  const RankSet& own_;
  ConnectionContext context_;
  std::vector<std::unique_ptr<RankConnection>> connections_;  // by position in own_
  LeftRanks left_;
};

}  // namespace scela::nla
