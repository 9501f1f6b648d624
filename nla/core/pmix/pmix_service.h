// Translates what the PMIx server of a node asks into the collective primitives, and their answers
// back: a state machine between pmix/core/messages.h and nla/core/wire/request.h. The shell uses
// it.
//
// A fence is an allgather among the lowest ranks that its set has on each node. Each gives what its
// node's server has collected. The tag of a fence comes from the set, so that fences of different
// ranks on the same nodes are apart. Each contribution names the set, so that equal tags are
// noticed. Fences of one set follow each other. Fences with a name (groups) are apart and get a
// number from the node of their lowest rank. A member that has ended fails the fence on every node:
// libpmix would let it pass.
//
// libpmix waits in its fences for every rank of its node, until it loses the connection of one. A
// rank that ends before it has connected has no connection to lose, so a stand-in connects in its
// name and ends. It is sent once other ranks are connected, because those may wait for it.
//
// Published values are in the job's table of names (nla/core/kvs/names.h). When a rank ends, the
// table is told if the rank has published names that go with it. pmix_data.h has the data that
// ranks of other nodes have put; pmix_watch.h and pmix_copies.h serve tools.
//
// Each world of the job (nla/core/wire/job.h) is told to the server as a namespace, in order,
// before any of its ranks starts here. A set may have ranks of several worlds. Ranks that ask for
// more ranks are heard like those of the other protocols (nla/core/kvs/spawns.h).
//
// Pure: this part has no descriptor and no process. The shell feeds both sides and owns both ends
// (nla/ranks/pmix_helper.h). It has no lock, and one thread at a time calls it.
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

#include "nla/core/pmix/pmix_copies.h"
#include "nla/core/pmix/pmix_data.h"
#include "nla/core/pmix/pmix_watch.h"
#include "nla/core/tree/actions.h"
#include "nla/core/wire/job.h"
#include "nla/core/wire/request.h"
#include "pmix/core/messages.h"

namespace scela::nla {

class PmixService {
 public:
  // The callbacks are called only from within calls of the service, never later.
  struct Sides {
    std::function<void(pmix::Message)> tell;            // tells the server
    std::function<void(Rank, RequestId, Request)> ask;  // asks the agent
    // Returns true if the rank's process is on its way out; the server may know that before the
    // agent is told. If absent, no process is.
    std::function<bool(Rank)> is_leaving = nullptr;
    // For a rank of this node: process() returns its process id, or 0 if it has none. kill() sends
    // it a signal. write() puts text among its output and returns false if that stream has ended.
    // If they are absent, there are no processes.
    std::function<std::uint32_t(Rank)> process = nullptr;
    std::function<void(Rank, std::int32_t)> kill = nullptr;
    std::function<bool(Rank, bool error, std::string)> write = nullptr;
    // Starts a process that connects in the name of a rank that has ended, and ends. If absent,
    // there is none.
    std::function<void(Rank)> stand_in = nullptr;
  };
  // `own` are the ranks of this node, which is `node`. `job` and `own` are borrowed: they must
  // outlive the service, and may grow.
  PmixService(const Job& job, const RankSet& own, std::uint32_t node, Sides sides);

  // Tells the server of the worlds of the job that it does not know yet. The caller calls this
  // first, and again whenever there are more worlds.
  void tell_worlds();

  // Returns false if no server of this kind says that here; the shell must not speak to it any
  // more.
  bool receive(pmix::Message message);
  // The agent has answered a request of Sides::ask, or a message of another node has come.
  void reply(const action::Reply& reply);
  // A rank of this node has ended. The agent must still accept requests of that rank.
  void rank_ended(Rank rank);
  // Notes how a rank ended, for servers that ask. The caller calls this after rank_ended(), or for
  // a rank that was not started.
  void note_end(const pmix::Process& process);
  // A rank of this node has written these bytes. A tool may want to see them.
  void output(Rank rank, bool error, std::string_view bytes) { copies_.output(rank, error, bytes); }
  // Ranks of this job, on any node, failed and the job goes on without them.
  void peers_failed(const RankSet& ranks);
  // The agents of these nodes are gone. The caller reports known failures there before.
  void nodes_lost(const RankSet& nodes);
  // Messages in flight between these ranks and all others may be lost (action::Reconnected).
  void reconnected(const RankSet& ranks);

  // Returns the number of worlds, from the first on, that may start their ranks.
  std::size_t ready_worlds() const { return ready_worlds_; }
  const std::string& fault() const { return fault_; }  // the failure that the server reported
  // Returns the variables (K=V) that the server wants the rank to have. All are there once the
  // rank's world is ready.
  const std::vector<std::string>& environment(Rank rank) const;
  // Returns true if the rank called PMIx_Init and not PMIx_Finalize.
  bool unfinished(Rank rank) const { return connected_.contains(rank); }

 private:
  // One fence of this node's server, with what the server has collected.
  struct Fence {
    pmix::Id id = 0;
    std::string blob;
  };
  // Fences with the same set and name. They follow each other.
  struct Gathering {
    RankSet ranks;
    std::string name;
    friend auto operator<=>(const Gathering&, const Gathering&) = default;
  };
  struct Fences {  // the fences of one gathering
    RankSet leaders;
    std::uint32_t tag = 0;
    bool under_way = false;  // the agent was asked for one
    std::deque<Fence> waiting;
  };
  struct Question {
    pmix::Id id = 0;
    Rank rank = 0;                                // the rank that the question is for
    std::optional<Gathering> fence = {};          // the gathering, if it is a fence
    pmix::Status refused = pmix::Status::failed;  // the status of a refusal
    std::string name = {};                        // the name that it waits for
  };

  // Handle the messages of the server. They return false if no server of this kind says that here.
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

  // Return the callbacks of the parts, which go to sides_.
  PmixWatch::Sides watch_sides();
  PmixCopies::Sides copies_sides();
  PmixData::Sides data_sides();
  // Returns the present state of a rank of this node that has not ended.
  pmix::Process look(Rank rank) const;
  // Returns the fences of a gathering. If there are none yet, sets leaders and tag.
  Fences& fences_of(const Gathering& gathering);
  // Begins the next waiting fence. under_way stays false if none is left to begin.
  void enter(const Gathering& gathering, Fences& fences);
  // A fence is over. Begins the next one, or forgets the gathering.
  void go_on(const Gathering& gathering);
  // Returns the answer to the server, made of what all nodes have contributed.
  pmix::msg::Answer fenced(const Question& question, const Response& response) const;
  // Answers a question of the server.
  void answer(pmix::Id id, pmix::Status status, std::string blob = {});
  // Asks the table of names. A request that cannot be is answered with an error. Returns false if
  // the rank is not of this node.
  bool ask_name(Question question, ask::Name name);
  // Asks the agent in the name of Question::rank, and notes the question for reply().
  void ask(Question question, Request request);
  // A message of another node's agent has come.
  void heard(const action::Reply& message);
  // Returns what the server is told of a world.
  pmix::msg::World world(std::size_t number) const;
  // Returns true if one of `ranks` has ended here or is about to: the fence must fail.
  bool is_incomplete(const RankSet& ranks) const;
  // Sends a stand-in for each rank in absent_, once a rank is connected.
  void send_stand_ins();
  // Returns true if the rank is of this node and has not ended.
  bool is_here(Rank rank) const { return own_.contains(rank) && !ended_.contains(rank); }

  const Job& job_;
  const RankSet& own_;
  const std::uint32_t node_;
  Sides sides_;
  // This node's ranks with an environment that is to come, by world.
  std::deque<RankSet> told_;
  std::size_t ready_worlds_ = 0;
  std::string fault_;
  std::map<Rank, std::vector<std::string>> environments_;
  RankSet connected_;  // see unfinished()
  RankSet known_;      // ranks that have ever connected
  // Ranks that ended before they connected, and for which no stand-in was sent.
  RankSet absent_;
  RankSet ended_;  // on this node
  std::map<Gathering, Fences> fences_;
  std::uint32_t numbered_ = 0;  // number of named fences of this node
  std::map<RequestId, Question> asked_;
  RequestId next_ = 1;
  RankSet publishers_;  // ranks with names that go with them
  PmixWatch watch_;
  PmixCopies copies_;
  PmixData data_;
};

}  // namespace scela::nla
