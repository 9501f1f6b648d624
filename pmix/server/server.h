// libpmix's server of one node: set up from what the agent says, and told what the agent answers.
//
// libpmix calls the host (upcalls.cpp) from threads of its own; those calls only queue. One server
// per process, as libpmix has it. Private to pmix/server.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <string>

#include "common/core/rank_map.h"
#include "common/core/result.h"
#include "pmix/core/messages.h"
#include "pmix/server/link.h"

namespace scela::pmix {

class Server {
 public:
  explicit Server(AgentLink& link) : link_(link) {}

  // Initialises libpmix, registers the job and its ranks, and posts their environment.
  // Empty, or why it cannot be.
  std::string set_up(const msg::Setup& setup);
  void receive(const Message& message);

  AgentLink& link() { return link_; }
  // Empty: one of them is not of this job.
  RankSet ranks_of(const pmix_proc_t procs[], std::size_t count) const;
  pmix_proc_t process(Rank rank) const;
  bool is_ours(const pmix_proc_t& proc) const;
  // In whose name a process asks that is no rank of this node: a tool.
  Rank speaker(const pmix_proc_t& proc) const;
  const msg::Setup& setup() const { return setup_; }
  const RankMap& map() const { return map_; }

 private:
  pmix_status_t initialise(const msg::Setup& setup);
  static void help_tools(const msg::Setup& setup);
  pmix_status_t register_job(const msg::Setup& setup);
  pmix_status_t register_ranks();

  AgentLink& link_;
  msg::Setup setup_;
  std::string nspace_;
  RankMap map_;
  RankSet own_;
};

// The functions that libpmix calls. `server` is the one they work for, and outlives libpmix.
pmix_server_module_t* upcalls_for(Server& server);

// Hand what the agent says to those who have registered for it, on this node.
void deliver(const Server& server, const msg::Event& event);
void deliver(const Server& server, const msg::RanksFailed& failed);

}  // namespace scela::pmix
