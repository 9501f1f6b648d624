// Data that ranks have put, between nodes (direct modex). Each node has an agent, the process of
// the job there, and a PMIx server beside it. A server wants the data of a rank of another node.
// Its agent asks the agent of that node, and that node's server answers once the rank has put the
// data. If an agent is lost with the question or its answer, the question is asked again.
//
// Pure, like PmixService (pmix_service.h), which owns this part; one thread at a time calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/wire/job.h"
#include "pmix/core/pmix_messages.h"

namespace scela::nla {

class PmixData {
 public:
  // The functions that the owner lends. They are called only from within calls of this object.
  struct Callbacks {
    std::function<void(pmix::Message)> tell;  // sends this message to the server of this node
    // Sends to the agent that serves `to` on its node.
    std::function<void(std::uint32_t tag, Rank to, std::string bytes)> send;
  };
  // `job` and `own` (this node's ranks) are borrowed. They must outlive the object, and may grow.
  PmixData(const Job& job, const RankSet& own, Callbacks sides);

  // Handle a message of this node's server: it wants the data of a rank of another node, or has the
  // data of a rank of this node that was asked for. Both return true.
  bool receive(pmix::msg::DataWanted& message);
  // Takes the data that this node's server has for another node: sends it there. Returns true.
  bool receive(pmix::msg::Data& message);
  // Ends the wait of the server's question `id`: answers it with `timed_out` and withdraws it at
  // the other node. Returns false if no open question about data has this id.
  bool give_up(pmix::Id id);
  // Handles a message of another node's agent. `tag` says what it is, `from` and `to` are ranks of
  // that node and of this one, and `bytes` are its content; malformed ones are ignored. Returns
  // false if the tag is not one of this part.
  bool heard(std::uint32_t tag, Rank from, Rank to, std::string_view bytes);

  // Called when the server is ready for the first `worlds` worlds of the job (nla/core/wire/job.h):
  // passes on the questions about their ranks that had to wait.
  void worlds_ready(std::size_t worlds);
  // Called when a rank of this node has ended: questions for its data get `not_found`.
  void rank_ended(Rank rank);
  // Called for the events of PmixService with these names.
  void peers_failed(const RankSet& ranks);
  // Call it if the agents of these nodes (node numbers) are gone. Questions to and from them end.
  void nodes_lost(const RankSet& nodes);
  // Call it if messages between `ranks` and all others may be lost. Questions to the other side are
  // asked again.
  void reconnected(const RankSet& ranks);

 private:
  struct Visitor {  // another node's question
    Rank asker = 0;
    pmix::Id id = 0;  // the question's id there
    Rank rank = 0;    // a rank of this node
    std::string key;  // see pmix::msg::DataAsked
  };
  struct Wanted {  // data wanted of a rank elsewhere
    Rank rank = 0;
    std::string key;
  };

  // Answers a question of this node's server.
  void answer(pmix::Id id, pmix::Status status, std::string blob = {});
  // Asks the agent of the wanted rank's node. If `no_more` is true, withdraws the question instead.
  void want(pmix::Id id, const Wanted& one, bool no_more = false);
  // Returns true if that node asked this question under this id.
  bool is_of(const Visitor& visitor, std::uint32_t node, pmix::Id id) const;
  // Drops the question of that node with this id, which it has withdrawn.
  void withdrawn(std::uint32_t node, pmix::Id id);
  // Drops the visitors for which which(visitor) returns true, without an answer.
  template <class Which>
  void forget_visitors(Which which);
  // Handles a question of another node: passes it on to the server, keeps it in early_ until its
  // world is ready, or refuses it.
  void wanted(const Visitor& visitor);
  // Counts one question less in waiting_of_ for the visitor's node.
  void waits_no_more(const Visitor& visitor);
  // Sends a visitor its answer. Any status but ok counts as not found there.
  void send(const Visitor& visitor, pmix::Status status, std::string_view blob);
  // Answers the questions about these ranks with not found.
  void forget_wanted(const RankSet& ranks);

  const Job& job_;
  const RankSet& own_;
  Callbacks sides_;
  std::size_t ready_worlds_ = 0;
  RankSet ended_;   // on this node
  RankSet failed_;  // on any node
  RankSet lost_;    // node numbers
  std::map<pmix::Id, Wanted> wanted_;
  std::map<pmix::Id, Visitor> visitors_;
  pmix::Id next_visitor_ = 1;                        // ids for this node's server
  std::vector<Visitor> early_;                       // about worlds that are not ready
  std::map<std::uint32_t, std::size_t> waiting_of_;  // by node: visitors, early ones included
};

}  // namespace scela::nla
