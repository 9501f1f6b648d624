// What the PMIx server of a node asks, in terms of the collective primitives, and their answers in
// its terms: a state machine between pmix/core/messages.h and nla/core/request.h.
//
// A fence is an allgather among the lowest ranks that its set has on each node: each gives what its
// node's server has collected. Its tag comes from the set, so that fences of different ranks on the
// same nodes are apart, and each contribution names the set, so that equal tags are noticed. Fences
// of one set follow each other, but those with a name (groups), which are apart and get a number
// from the node of their lowest rank. A member that has ended fails the fence on every node:
// libpmix would let it pass.
//
// libpmix waits in its fences for every rank of its node, until it loses the connection of one. One
// that ends before it has connected has none to lose: a stand-in connects in its name and ends. It
// is sent once others are connected, which may wait for it.
//
// Published values are in the job's table of names (names.h), which is told when a rank ends that
// has published what goes with it. What ranks of other nodes have put: pmix_data.h; who looks on:
// pmix_watch.h and pmix_copies.h.
//
// Each world of the job (job.h) is told to the server as a namespace, in order, before any of its
// ranks starts here; sets may have ranks of several. Ranks that ask for more are heard as those of
// the other protocols (spawns.h).
//
// Pure: no descriptor, no process. The shell feeds both sides and owns both ends (pmix_helper.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nla/core/actions.h"
#include "nla/core/job.h"
#include "nla/core/pmix_copies.h"
#include "nla/core/pmix_data.h"
#include "nla/core/pmix_watch.h"
#include "nla/core/request.h"
#include "pmix/core/messages.h"

namespace scela::nla {

class PmixDesk {
 public:
  // Called from within what is called here, never later.
  struct Sides {
    std::function<void(pmix::Message)> tell;            // the server
    std::function<void(Rank, RequestId, Request)> ask;  // the agent
    // Whether the rank's process is on its way out, which the server may know before the agent is
    // told; absent: none is.
    std::function<bool(Rank)> is_leaving = nullptr;
    // Of a rank of this node: its process, 0 if it has none; a signal to it; text among its output,
    // false if that has ended. Absent: there are no processes.
    std::function<std::uint32_t(Rank)> process = nullptr;
    std::function<void(Rank, std::int32_t)> kill = nullptr;
    std::function<bool(Rank, bool error, std::string)> write = nullptr;
    // A process that connects in the rank's name, which has ended, and ends; absent: there is none.
    std::function<void(Rank)> stand_in = nullptr;
  };
  // `own`: the ranks of this node, which is `node`; both are borrowed, and grow.
  PmixDesk(const Job& job, const RankSet& own, std::uint32_t node, Sides sides);

  // Tells the server of the worlds that the job has and it does not know yet; first of all, and
  // whenever there are more.
  void tell_worlds();

  // False: no server of this kind says that here; it is not to be spoken to any more.
  bool receive(pmix::Message message);
  void reply(const action::Reply& reply);
  void rank_ended(Rank rank);
  // How, for those who ask: after rank_ended(), or of one that was not started.
  void note_end(const pmix::Process& process);
  // A rank of this node has written it: somebody's tool may want to see that.
  void output(Rank rank, bool error, std::string_view bytes) { copies_.output(rank, error, bytes); }
  // Ranks of this job, wherever, that the job goes on without.
  void peers_failed(const RankSet& ranks);
  // Nodes whose agents are gone, after what is known of failures there.
  void nodes_lost(const RankSet& nodes);
  // What was under way between these ranks and all others may be lost (action::Reconnected).
  void reconnected(const RankSet& ranks);

  // Of the worlds whose ranks may start: so many from the first on.
  std::size_t ready_worlds() const { return ready_worlds_; }
  const std::string& fault() const { return fault_; }  // that the server has told instead
  const std::vector<std::string>& environment(Rank rank) const;
  // It said PMIx_Init and not PMIx_Finalize.
  bool unfinished(Rank rank) const { return connected_.contains(rank); }

 private:
  struct Fence {
    pmix::Id id = 0;
    std::string blob;
  };
  struct Gathering {  // whose fences follow each other
    RankSet ranks;
    std::string name;
    friend auto operator<=>(const Gathering&, const Gathering&) = default;
  };
  struct Fences {  // of one gathering
    RankSet leaders;
    std::uint32_t tag = 0;
    bool under_way = false;
    std::deque<Fence> waiting;
  };
  struct Question {
    pmix::Id id = 0;
    Rank rank = 0;                                // in whose name it was asked
    std::optional<Gathering> fence = {};          // of this one
    pmix::Status refused = pmix::Status::failed;  // what a refusal means
    std::string name = {};                        // that it waits for
  };

  bool take(pmix::msg::Environment& message);
  bool take(pmix::msg::Ready& message);
  bool take(pmix::msg::Failed& message);
  bool take(pmix::msg::Connected& message);
  bool take(pmix::msg::Finalized& message);
  bool take(pmix::msg::Abort& message);
  bool take(pmix::msg::Fence& message);
  bool take(pmix::msg::DataWanted& message) { return data_.receive(message); }
  bool take(pmix::msg::Data& message) { return data_.receive(message); }
  bool take(pmix::msg::Publish& message);
  bool take(pmix::msg::Lookup& message);
  bool take(pmix::msg::Unpublish& message);
  bool take(pmix::msg::GiveUp& message);
  bool take(pmix::msg::TableWanted& message) { return watch_.receive(message); }
  bool take(pmix::msg::Notify& message) { return watch_.receive(message); }
  bool take(pmix::msg::Control& message) { return watch_.receive(message); }
  bool take(pmix::msg::Log& message) { return watch_.receive(message); }
  bool take(pmix::msg::Spawn& message);
  bool take(pmix::msg::Pull& message) { return copies_.receive(message); }
  bool take(pmix::msg::PullNoMore& message) { return copies_.receive(message); }
  bool take(pmix::msg::Taken& message) { return copies_.receive(message); }
  template <class Other>
  bool take(Other&) {
    return false;
  }

  PmixWatch::Sides watch_sides();
  PmixCopies::Sides copies_sides();
  PmixData::Sides data_sides();
  pmix::Process look(Rank rank) const;
  Fences& fences_of(const Gathering& gathering);
  void enter(const Gathering& gathering, Fences& fences);
  void go_on(const Gathering& gathering);
  pmix::msg::Answer fenced(const Question& question, const Response& response) const;
  void answer(pmix::Id id, pmix::Status status, std::string blob = {});
  bool ask_name(Question question, ask::Name name);
  void ask(Question question, Request request);
  void heard(const action::Reply& message);
  pmix::msg::World world(std::size_t number) const;
  bool is_incomplete(const RankSet& ranks) const;
  void send_stand_ins();
  bool is_here(Rank rank) const { return own_.contains(rank) && !ended_.contains(rank); }

  const Job& job_;
  const RankSet& own_;
  const std::uint32_t node_;
  Sides sides_;
  std::deque<RankSet> told_;  // of worlds, this node's ranks whose environment is to come
  std::size_t ready_worlds_ = 0;
  std::string fault_;
  std::map<Rank, std::vector<std::string>> environments_;
  RankSet connected_;
  RankSet known_;   // have ever connected
  RankSet absent_;  // have ended before they did, and no stand-in was sent
  RankSet ended_;   // of this node
  std::map<Gathering, Fences> fences_;
  std::uint32_t numbered_ = 0;  // fences with a name, of which this node had a part
  std::map<RequestId, Question> asked_;
  RequestId next_ = 1;
  RankSet publishers_;  // of what goes with them
  PmixWatch watch_;
  PmixCopies copies_;
  PmixData data_;
};

}  // namespace scela::nla
