// The PMIx server of one node, on top of libpmix. It is set up by the agent's messages and receives
// the agent's answers. Each world of the job is a namespace. Private to pmix/server.
//
// libpmix calls the host's functions (upcalls.cpp) from threads of its own; they only queue
// questions. There is one server per process, as libpmix requires. set_up() and receive() are for
// the main thread.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/core/placement/rank_map.h"
#include "common/core/result.h"
#include "pmix/core/pmix_messages.h"
#include "pmix/server/agent_link.h"

namespace scela::pmix {

class Infos;

// A namespace: the ranks with which the job began, or the ranks of one spawn.
struct Space {
  std::string name;            // of the namespace
  Rank first = 0;              // its rank 0, by the job's numbers
  RankMap map;                 // maps rank - first to nodes
  std::uint32_t universe = 0;  // slots of the job's hosts; 0: no bound
  std::vector<msg::World::Program> programs;
  ask::Stops stops;  // ranks that are stopped for a debugger

  // Both functions return ranks by the job's numbers.
  RankSet ranks() const { return RankSet::run(first, map.size()); }
  RankSet ranks_of(std::uint32_t node) const;
  std::size_t nodes() const;  // number of nodes with ranks of it
};

class Server {
 public:
  // `link` is borrowed.
  explicit Server(AgentLink& link) : link_(link) {}

  // Initialises libpmix. Returns an empty string, or the reason why that failed.
  std::string set_up(const msg::Setup& setup);
  // Carries out a message of the agent: registers worlds, posts the environment of their ranks,
  // requests ranks' data, and passes on events and copies. Returns an empty string, or the reason
  // why the server cannot go on.
  std::string receive(const Message& message);

  AgentLink& link() { return link_; }
  // These functions translate between the job's numbers and libpmix's names, from any thread. A
  // process of libpmix is a namespace and a rank there; the rank PMIX_RANK_WILDCARD stands for all.
  // ranks_of() returns the ranks of the `count` processes; the set is empty if one of them is not
  // of this job. rank_of() returns std::nullopt then.
  RankSet ranks_of(const pmix_proc_t procs[], std::size_t count) const;
  std::optional<Rank> rank_of(const pmix_proc_t& proc) const;
  pmix_proc_t process(Rank rank) const;
  // Returns the rank in the name of which a process asks. A tool asks in the name of a rank of this
  // node.
  Rank speaker(const pmix_proc_t& proc) const;
  // spaces() returns the job's namespaces, ordered by first rank. space() returns the namespace of
  // this name, or a null pointer. Both are for any thread.
  using SpacePtr = std::shared_ptr<const Space>;
  std::vector<SpacePtr> spaces() const;
  SpacePtr space(const char* nspace) const;
  const msg::Setup& setup() const { return setup_; }
  // Returns the name of the node with this number, or an empty string if it is unknown.
  std::string host(std::uint32_t node) const;
  // Returns true if libpmix will find this process by itself, later. Its namespace may be one of
  // this job that is not known here yet, since a rank may hear of it by MPI first. Or it is a
  // process of this node that is just being registered.
  bool is_coming(const pmix_proc_t& proc) const;

 private:
  // Starts libpmix as a server with this node's names and directories. Returns its status.
  pmix_status_t initialise();
  // Lets tools find the server if the node is not named as its machine is.
  static void help_tools(const msg::Setup& setup);
  // Registers a world and its ranks here. Returns an empty string, or why that failed.
  std::string take(const msg::World& world);
  // Answers DataAsked by Data, when the rank has committed and the key, if any, is there.
  void ask_for_data(const msg::DataAsked& asked);
  // Looks for the key of an open question (`looking_`). If the rank has committed the key, requests
  // the data for the answer, and the looking ends. Otherwise looks again after `delay`, and then
  // after twice that delay each time, up to kLastLook (pmix_server.cpp). Does nothing once the
  // question is no longer open.
  void look_for(const msg::DataAsked& asked, AgentLink::Limit delay);
  // Asks libpmix for the rank's data. `then` gets it later, in a thread of libpmix. If libpmix
  // refuses, posts the failure and does not call `then`.
  void request_data(const msg::DataAsked& asked, std::function<void(msg::Data)> then);
  // Returns true if the rank of this node has committed a value for this key.
  bool has_put(Rank rank, const std::string& key) const;
  // Describes the world to libpmix: its map, its sizes and each of its ranks.
  pmix_status_t register_world(const msg::World& world, const RankMap& map);
  // The place of one rank of a world.
  struct Place {
    Rank rank;  // in its world
    std::uint32_t node;
    std::uint32_t on_node;         // position among its world's ranks there
    std::uint32_t of_job_on_node;  // position among the job's ranks there
  };
  // Adds the attributes of one rank to `of`.
  void describe(const msg::World& world, const Place& place, Infos& of) const;
  // Returns the number of ranks on that node in the worlds before this one.
  std::uint32_t ranks_before(const msg::World& world, std::uint32_t node) const;
  // Registers ranks of this node, and posts the environment of each.
  pmix_status_t register_ranks(const RankSet& ranks);

  AgentLink& link_;
  msg::Setup setup_;
  std::set<Id> looking_;  // open DataAsked with a key; main thread

  mutable std::mutex lock_;  // guards the members below
  std::vector<SpacePtr> spaces_;
  std::vector<std::string> hosts_;  // names of all nodes, by number
  std::size_t registered_ = 0;      // number of registered spaces_
};

// Returns the namespace of the job's servers. The rank of each is the number of its node.
std::string server_namespace(const msg::Setup& setup);

// Returns the table of functions that libpmix calls. They work for `server`, which must outlive
// libpmix.
pmix_server_module_t* upcalls_for(Server& server);

// Pass an event of the agent to the processes of this node that have registered for it.
void deliver(const Server& server, const msg::Event& event);
void deliver(const Server& server, const msg::RanksFailed& failed);
// Passes a copy of a rank's output to the tools that asked for it.
void pass_copy(msg::Copy copy);

}  // namespace scela::pmix
