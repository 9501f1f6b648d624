// Data that ranks have put, between nodes (direct modex). A server wants the data of a rank of
// another node. Its agent asks that node's server, which answers once the rank has put the data. If
// an agent is lost with the question or its answer, the question is asked again.
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
#include "pmix/core/messages.h"

namespace scela::nla {

class PmixData {
 public:
  struct Sides {
    std::function<void(pmix::Message)> tell;  // tells the server
    // Sends to the agent that serves `to` on its node.
    std::function<void(std::uint32_t tag, Rank to, std::string bytes)> send;
  };
  // `job` and `own` (this node's ranks) are borrowed. They must outlive the object, and may grow.
  PmixData(const Job& job, const RankSet& own, Sides sides);

  // A server wants the data of a rank elsewhere, or has the data that this node was asked for. Both
  // return true.
  bool receive(pmix::msg::DataWanted& message);
  bool receive(pmix::msg::Data& message);
  // A rank here has waited for long enough. Returns false if that question is not about data.
  bool give_up(pmix::Id id);
  // Takes a message of another node's agent. Returns false if the tag is not one of this part.
  bool heard(std::uint32_t tag, Rank from, Rank to, std::string_view bytes);

  // The server knows this many worlds, from the first on.
  void worlds_ready(std::size_t worlds);
  // A rank of this node has ended.
  void rank_ended(Rank rank);
  // The events of PmixService with these names.
  void peers_failed(const RankSet& ranks);
  void nodes_lost(const RankSet& nodes);
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
  // Asks the node of the wanted rank. If `no_more` is true, withdraws the question instead.
  void want(pmix::Id id, const Wanted& one, bool no_more = false);
  // Returns true if that node asked this question under this id.
  bool is_of(const Visitor& visitor, std::uint32_t node, pmix::Id id) const;
  // That node waits for this answer no more.
  void withdrawn(std::uint32_t node, pmix::Id id);
  // Drops the visitors for which which(visitor) returns true, without an answer.
  template <class Which>
  void forget_visitors(Which which);
  // Another node asks. Its question goes to the server, waits for its world in early_, or is
  // refused.
  void wanted(const Visitor& visitor);
  // Takes the visitor off waiting_of_.
  void waits_no_more(const Visitor& visitor);
  // Sends a visitor its answer. Any status but ok counts as not found there.
  void send(const Visitor& visitor, pmix::Status status, std::string_view blob);
  // Answers the questions about these ranks with not found.
  void forget_wanted(const RankSet& ranks);

  const Job& job_;
  const RankSet& own_;
  Sides sides_;
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
