// The connections by which this node's ranks find the others, inherited ones, memory in their place
// (rank_pmi_ring.cpp), or those that they make to the node's port: what they ask becomes events,
// what comes back is written to them.
//
// Runs on the shell's loop. The protocol is pmi/server's; what the answers are is the core's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "nla/poller.h"
#include "nla/rank_end.h"
#include "nla/ranks.h"
#include "pmi/server/rank_server.h"

namespace scela::nla {

// Of questions whether a rank has left, and of the answer that it has (nobody answers that it has
// not): they need no answer of their own.
inline constexpr RequestId kLeftRequest = UINT64_MAX - 1;

class RankPmi final : pmi::JobServices, EndListener {
 public:
  // All are borrowed; `poller` is there when the first rank is.
  RankPmi(const RanksHost& host, const Job& job, const RankSet& own, std::optional<Poller>& poller);
  ~RankPmi() override;
  RankPmi(const RankPmi&) = delete;
  RankPmi& operator=(const RankPmi&) = delete;

  // Where ranks connect to by themselves, if the job wants that; 0: they inherit. `process`: of a
  // rank, 0 while it does not run. Once, before a rank runs. Error (launch): no port to be had.
  Result<std::uint16_t> listen(const std::string& node, std::function<pid_t(Rank)> process);
  // The last so many ranks of `own` are new.
  void add(const RankSet& more);
  // What a rank, this process, has inherited the other end of.
  void open(Rank rank, Fd connection, pid_t process);
  void reply(const action::Reply& reply);
  // Off: no requests are read.
  void set_reading(bool on);
  // The rank has ended: takes what it asked before.
  void close(Rank rank);
  // It said init and not finalize.
  bool unfinished(Rank rank) const;
  // It has ended, and not well: what it may have said of that meanwhile is asked.
  void ended_badly(Rank rank);
  // False: this is not about who has left.
  bool heard(const action::Reply& reply);

 private:
  struct Connection;
  struct Port;
  struct Bell;

  Connection& of(Rank rank) const { return *connections_[own_.index_of(rank)]; }
  void on_ready(Rank rank, int which, bool readable, bool writable) override;
  void watch(Connection& one);
  void read(Connection& one);
  bool may_read(const Connection& one) const;
  void take_rest(Connection& one);
  void flush(Connection& one);
  void write(Connection& one);
  void answer(const action::Reply& reply);

  // Of those that have memory.
  bool lend_ring(Connection& one);
  bool hang_bell();
  void rung();
  void leave_socket(Connection& one);
  void serve_ring(Connection& one);
  void write_ring(Connection& one);
  void spoilt(Connection& one);
  void end_ring(Connection& one);
  void drop_ring(Connection& one);

  // Of those that come by the port.
  std::unique_ptr<pmi::RankServer> make_server(Rank rank);
  bool speaks_pmgr() const {
    return job_.pmi == PmiKind::pmgr || job_.pmi == PmiKind::pmgr_mvapich1;
  }
  void check_in(Rank rank, Fd connection, const std::string& rest);
  void settle();
  bool believe_claim(Rank rank);
  void doubt(Rank rank, std::function<void()> verdict);
  void left_early(Connection& one);
  static void acknowledge(Connection& one);

  // pmi::JobServices
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
  void ask(Rank rank, pmi::RequestId id, const char* name, Request request);
  // A key as it is called outside of the rank's world.
  std::string global(Rank rank, std::string_view key) const;
  RankSet world_of(Rank rank) const;

  const RanksHost& host_;
  const Job& job_;
  const RankSet& own_;
  std::optional<Poller>& poller_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by position in own_
  std::unique_ptr<Bell> own_bell_;   // rung by the agent itself: nobody else has it
  std::unique_ptr<Bell> bell_;       // once a rank asked for memory
  std::vector<Connection*> ringed_;  // that have it
  RankSet ended_;                    // of this node
  RankSet left_;                     // of others, as far as it was asked for
  bool reading_ = true;
  std::unique_ptr<Port> port_;  // none: ranks inherit
};

}  // namespace scela::nla
