// libpmix's server of one node: set up from what the agent says, and told what the agent answers.
// Each world of the job is a namespace.
//
// libpmix calls the host (upcalls.cpp) from threads of its own; those calls only queue. One server
// per process, as libpmix has it. Private to pmix/server.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/core/rank_map.h"
#include "common/core/result.h"
#include "pmix/core/messages.h"
#include "pmix/server/link.h"

namespace scela::pmix {

class Infos;

// A namespace: the ranks that the job began with, or those of one spawn.
struct Space {
  std::string name;
  Rank first = 0;
  RankMap map;  // of rank - first
  std::uint32_t universe = 0;
  std::vector<msg::World::Program> programs;

  // By the job's numbers.
  RankSet ranks() const { return RankSet::run(first, map.size()); }
  RankSet ranks_of(std::uint32_t node) const;
  std::size_t nodes() const;  // those that have ranks of it
};

class Server {
 public:
  explicit Server(AgentLink& link) : link_(link) {}

  // Initialises libpmix. Empty, or why it cannot be.
  std::string set_up(const msg::Setup& setup);
  // Registers worlds, posts the environment of their ranks, and asks ranks for their data. Empty,
  // or why it cannot serve any more.
  std::string receive(const Message& message);

  AgentLink& link() { return link_; }
  // Between the job's numbers and libpmix's names; any thread may ask.
  // Empty: one of them is not of this job.
  RankSet ranks_of(const pmix_proc_t procs[], std::size_t count) const;
  std::optional<Rank> rank_of(const pmix_proc_t& proc) const;
  pmix_proc_t process(Rank rank) const;
  // In whose name a process asks: a tool in that of a rank of this node.
  Rank speaker(const pmix_proc_t& proc) const;
  // The job's namespaces, by first rank, and that of this name, or none.
  using SpacePtr = std::shared_ptr<const Space>;
  std::vector<SpacePtr> spaces() const;
  SpacePtr space(const char* nspace) const;
  const msg::Setup& setup() const { return setup_; }
  std::string host(std::uint32_t node) const;  // empty: there is none
  // libpmix finds it by itself, later: one of this job that is not known here yet, as a rank may
  // hear of it by MPI first; or one of this node that is just being registered.
  bool is_coming(const pmix_proc_t& proc) const;

 private:
  pmix_status_t initialise();
  static void help_tools(const msg::Setup& setup);
  std::string take(const msg::World& world);
  void ask_for_data(const msg::DataAsked& asked);
  void look_for(const msg::DataAsked& asked, AgentLink::Limit next);
  void request_data(const msg::DataAsked& asked, std::function<void(msg::Data)> then);
  bool has_put(Rank rank, const std::string& key) const;
  pmix_status_t register_world(const msg::World& world, const RankMap& map);
  struct Place {
    Rank rank;  // in its world
    std::uint32_t node;
    std::uint32_t on_node;         // its position among the ranks of its world there
    std::uint32_t of_job_on_node;  // and among those of the job
  };
  void describe(const msg::World& world, const Place& place, Infos& of) const;
  std::uint32_t ranks_before(const msg::World& world, std::uint32_t node) const;
  pmix_status_t register_ranks(const RankSet& ranks);

  AgentLink& link_;
  msg::Setup setup_;
  std::set<Id> looking_;  // questions for keys that ranks have not put yet; the main thread's

  mutable std::mutex lock_;  // of what follows
  std::vector<SpacePtr> spaces_;
  std::vector<std::string> hosts_;  // of all nodes, by number
  std::size_t registered_ = 0;      // of them
};

// The functions that libpmix calls. `server` is the one they work for, and outlives libpmix.
pmix_server_module_t* upcalls_for(Server& server);

// Hand what the agent says to those who have registered for it, on this node.
void deliver(const Server& server, const msg::Event& event);
void deliver(const Server& server, const msg::RanksFailed& failed);
// To the tools that want it.
void pass_copy(msg::Copy copy);

}  // namespace scela::pmix
