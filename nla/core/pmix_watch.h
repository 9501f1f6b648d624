// What the PMIx server of a node asks to see, and to do, of ranks of any node: the table of
// processes, events between servers, signals to ranks and text among their output.
//
// Each agent knows the processes of its own node only. A table is asked of the agents of all nodes
// that have a rank left, by messages to one rank of each (kServiceTags, request.h), and is answered
// when all of them have said theirs or have been lost; the server limits how long it waits. What is
// lost on its way when an agent is, is asked again. Events
// and signals go the same way, to the nodes that they concern, and are never sent on.
//
// Pure, like PmixDesk (pmix_desk.h), whose part it is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/job.h"
#include "pmix/core/messages.h"
#include "pmix/core/process.h"

namespace scela::nla {

// An event with what belongs to it, and text for a rank's output.
inline constexpr std::size_t kMaxEvent = std::size_t{64} * 1024;
inline constexpr std::size_t kMaxLog = std::size_t{16} * 1024;
// Tables that a server may be waiting for.
inline constexpr std::size_t kMaxTables = 64;

class PmixWatch {
 public:
  struct Sides {
    std::function<void(pmix::Message)> tell;  // the server
    // To who serves `to` on its node.
    std::function<void(std::uint32_t tag, Rank to, std::string bytes)> send;
    std::function<pmix::Process(Rank)> look;       // at a rank of this node that has not ended
    std::function<void(Rank, std::int32_t)> kill;  // a rank of this node, if it runs, by a signal
    // False: that stream takes no more.
    std::function<bool(Rank, bool error, std::string)> write;
  };
  PmixWatch(const Job& job, const RankSet& own, Sides sides);

  // False: no server of this kind says that here.
  bool receive(pmix::msg::TableWanted& message);
  bool receive(pmix::msg::Notify& message);
  bool receive(pmix::msg::Control& message);
  bool receive(pmix::msg::Log& message);
  // What another node's has sent. False: it is not for this one.
  bool heard(std::uint32_t tag, Rank from, std::string_view bytes);

  // Of this node; the first that is said of a rank stays.
  void ended(const pmix::Process& process);
  // Of any.
  void peers_failed(const RankSet& ranks);
  // As of PmixDesk.
  void nodes_lost(const RankSet& nodes);
  void reconnected(const RankSet& ranks);

 private:
  struct Table {
    pmix::Id id = 0;
    std::set<std::uint32_t> awaited;  // nodes
    std::vector<pmix::Process> processes;
  };
  using Nodes = std::map<std::uint32_t, Rank>;  // with a rank of each to send to

  Nodes others(const RankSet& ranks) const;
  void ask(std::uint64_t number, Rank rank);
  void finish_complete();
  std::vector<pmix::Process> here() const;
  void signal(const RankSet& ranks, std::int32_t signo);
  void table_heard(Rank from, std::string_view bytes);
  void finish(Table& table);
  void answer(pmix::Id id, pmix::Status status, std::string blob = {});

  const Job& job_;
  const RankSet& own_;
  Sides sides_;
  std::map<Rank, pmix::Process> ended_;
  RankSet failed_;
  RankSet lost_;                           // nodes
  RankSet ended_well_;                     // on those
  std::map<std::uint64_t, Table> tables_;  // by the number that other nodes know them by
  std::uint64_t next_ = 1;
};

}  // namespace scela::nla
