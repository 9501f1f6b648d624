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
  // All references are borrowed. `poller` must have a value when the first rank is opened.
  RankPmi(const RanksHost& host, const Job& job, const RankSet& own, std::optional<Poller>& poller);

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
  bool unfinished(Rank rank) const { return of(rank).server().unfinished(); }
  // The rank has ended with a failure. An abort in its name that could not be verified is now
  // believed.
  void ended_badly(Rank rank);
  // Returns false if this reply is not about ranks that have left.
  bool heard(const action::Reply& reply) { return left_.heard(reply); }

 private:
  RankConnection& of(Rank rank) const { return *connections_[own_.index_of(rank)]; }
  // Returns true if the job's ranks speak PMGR, and false if they speak PMI-1 or PMI-2.
  bool speaks_pmgr() const;
  // Returns a server of the protocol that the job's ranks speak.
  std::unique_ptr<pmi::RankServer> make_server(Rank rank);
  // Gives the core's reply to the protocol server of the rank.
  void answer(const action::Reply& reply);

  // The contract is in pmi/server/job_services.h. The core's answer has the request's `id`.
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
