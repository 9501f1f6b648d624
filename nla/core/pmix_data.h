// What ranks have put, between nodes (direct modex): a server wants what a rank of another node has
// put, whose agent asks that node's server, which answers once the rank has put it. Where the
// question or its answer was with an agent that is lost, it is asked again.
//
// Pure, like PmixDesk (pmix_desk.h), whose part it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/job.h"
#include "pmix/core/messages.h"

namespace scela::nla {

class PmixData {
 public:
  struct Sides {
    std::function<void(pmix::Message)> tell;  // the server
    // To who serves `to` on its node.
    std::function<void(std::uint32_t tag, Rank to, std::string bytes)> send;
  };
  PmixData(const Job& job, const RankSet& own, Sides sides);

  // A server wants the data of a rank elsewhere, or has the data that this node was asked for.
  bool receive(pmix::msg::DataWanted& message);
  bool receive(pmix::msg::Data& message);
  // A rank here has waited for long enough. False: that question is not about data.
  bool give_up(pmix::Id id);
  // What another node's has sent. False: it is not for this one.
  bool heard(std::uint32_t tag, Rank from, Rank to, std::string_view bytes);

  // The server knows so many worlds, from the first on.
  void worlds_ready(std::size_t worlds);
  // Of this node.
  void rank_ended(Rank rank);
  // As of PmixDesk.
  void peers_failed(const RankSet& ranks);
  void nodes_lost(const RankSet& nodes);
  void reconnected(const RankSet& ranks);

 private:
  struct Visitor {  // another node that wants what a rank of this one has put
    Rank asker = 0;
    pmix::Id id = 0;  // there
    Rank rank = 0;    // here
    std::string key;  // pmix::msg::DataAsked
  };
  struct Wanted {  // of a rank elsewhere
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
  RankSet ended_;   // of this node
  RankSet failed_;  // anywhere
  RankSet lost_;    // nodes
  std::map<pmix::Id, Wanted> wanted_;
  std::map<pmix::Id, Visitor> visitors_;
  pmix::Id next_visitor_ = 1;
  std::vector<Visitor> early_;                       // of worlds that are not ready
  std::map<std::uint32_t, std::size_t> waiting_of_;  // visitors of each node, early ones too
};

}  // namespace scela::nla
