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

  void answer(pmix::Id id, pmix::Status status, std::string blob = {});
  void want(pmix::Id id, const Wanted& one, bool no_more = false);
  bool is_of(const Visitor& visitor, std::uint32_t node, pmix::Id id) const;
  void withdrawn(std::uint32_t node, pmix::Id id);
  template <class Which>
  void forget_visitors(Which which);
  void wanted(const Visitor& visitor);
  void waits_no_more(const Visitor& visitor);
  void send(const Visitor& visitor, pmix::Status status, std::string_view blob);
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
  pmix::Id next_visitor_ = 1;
  std::vector<Visitor> early_;                       // about worlds that are not ready
  std::map<std::uint32_t, std::size_t> waiting_of_;  // by node: visitors, early ones included
};

}  // namespace scela::nla
