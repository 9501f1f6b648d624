// The requests of a node's PMIx server about ranks of any node, and its actions on them: the table
// of processes, events between servers, signals to ranks, and text among their output. Each node
// has an agent, the process of the job there, and a PMIx server beside it.
//
// Each agent knows only the processes of its own node. A table is asked of the agents of all nodes
// that have a rank left, by a message to one rank of each (kServiceTags,
// nla/core/wire/request_names.h). It is answered when each agent has answered or was lost; the
// server limits how long it waits. If an agent is lost with a question or an answer in flight, the
// question is asked again. Events and signals go in the same way to the nodes that they concern,
// and are never sent again.
//
// Pure, like PmixService (pmix_service.h), which owns this part; one thread at a time calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/wire/job.h"
#include "pmix/core/pmix_messages.h"
#include "pmix/core/process.h"

namespace scela::nla {

// The most bytes of an event with what belongs to it, and of a text for a rank's output. Longer
// ones are refused.
inline constexpr std::size_t kMaxEvent = std::size_t{64} * 1024;
inline constexpr std::size_t kMaxLog = std::size_t{16} * 1024;
// The most tables that a server may wait for at once.
inline constexpr std::size_t kMaxTables = 64;

class PmixWatch {
 public:
  // The functions that the owner lends. They are called only from within calls of this object.
  struct Callbacks {
    std::function<void(pmix::Message)> tell;  // sends this message to the server of this node
    // Sends to the agent that serves `to` on its node.
    std::function<void(std::uint32_t tag, Rank to, std::string bytes)> send;
    // Returns the present state of a rank of this node that has not ended.
    std::function<pmix::Process(Rank)> look;
    std::function<void(Rank, std::int32_t)> kill;  // signals a rank of this node, if it runs
    // Adds text to the standard error or standard output of a rank of this node. Returns false if
    // that stream takes no more.
    std::function<bool(Rank, bool error, std::string)> write;
  };
  // `job` and `own` (this node's ranks) are borrowed. They must outlive the object, and may grow.
  PmixWatch(const Job& job, const RankSet& own, Callbacks sides);

  // Handle a message of this node's server. Return false if it breaks the protocol, or if no rank
  // of this node can have caused it; the caller must then end the server.
  bool receive(pmix::msg::TableWanted& message);
  // Takes an event of the server and sends it to the servers of other nodes.
  bool receive(pmix::msg::Notify& message);
  // Sends a signal to ranks of any node, as the server wants.
  bool receive(pmix::msg::Control& message);
  // Puts a text of the server among the output of a rank of this node.
  bool receive(pmix::msg::Log& message);
  // Handles a message of another node's agent. `tag` says what it is, `from` is the rank of that
  // node in the name of which it was sent, and `bytes` are its content; malformed ones are ignored.
  // Returns false if the tag is not one of this part.
  bool heard(std::uint32_t tag, Rank from, std::string_view bytes);

  // Notes how a rank of this node ended, for tables. Later calls for the same rank are ignored.
  void ended(const pmix::Process& process);
  // Called when ranks of any node have failed while the job goes on.
  void peers_failed(const RankSet& ranks);
  // Called when the agents of these nodes (node numbers) are gone: tables are answered without
  // them. The caller has called peers_failed() for known failures there before.
  void nodes_lost(const RankSet& nodes);
  // Called when messages in flight between these ranks and all others may be lost. If a table waits
  // for the answer of a node on the other side, that node is asked again.
  void reconnected(const RankSet& ranks);

 private:
  // A table that the server has asked for and that waits for parts of other nodes.
  struct Table {
    pmix::Id id = 0;
    std::set<std::uint32_t> awaited;  // node numbers
    std::vector<pmix::Process> processes;
  };
  using Nodes = std::map<std::uint32_t, Rank>;  // a rank to send to, by node

  // Returns the other nodes with some of `ranks` that are not lost. The rank of each is its lowest
  // one that has not failed.
  Nodes others(const RankSet& ranks) const;
  // Asks the agent of this rank's node for its part of the table.
  void ask(std::uint64_t number, Rank rank);
  // Answers the tables that wait for no node any more.
  void finish_complete();
  // Returns the processes of this node, also those that have ended.
  std::vector<pmix::Process> here() const;
  // Signals those of `ranks` that run on this node.
  void signal(const RankSet& ranks, std::int32_t signo);
  // Adds the part of a table that another node has sent.
  void table_heard(Rank from, std::string_view bytes);
  // Adds what is known of lost ranks, and answers the server. The caller has removed the table.
  void finish(Table& table);
  // Answers a question of this node's server.
  void answer(pmix::Id id, pmix::Status status, std::string blob = {});

  const Job& job_;
  const RankSet& own_;
  Callbacks sides_;
  std::map<Rank, pmix::Process> ended_;
  RankSet failed_;
  RankSet lost_;                           // node numbers
  RankSet ended_well_;                     // ranks of those nodes
  std::map<std::uint64_t, Table> tables_;  // by the number that other nodes use
  std::uint64_t next_ = 1;
};

}  // namespace scela::nla
