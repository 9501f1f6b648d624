#include "pmix/server/server.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>

#include "common/core/overloaded.h"
#include "common/core/text.h"
#include "pmix/server/infos.h"

namespace scela::pmix {

namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using Text = std::unique_ptr<char, Free>;

// Done at once, and done, are both fine.
bool is_fine(pmix_status_t status) {
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

std::string said(const char* what, pmix_status_t status) {
  return cat("libpmix could not ", what, ": ", PMIx_Error_string(status));
}

template <class Each>
void for_each_node(const RankMap& map, std::size_t nodes, Each each) {
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const RankSet ranks = map.ranks_of(node);
    if (!ranks.empty()) each(node, ranks);
  }
}

std::string listed(const RankSet& ranks) {
  std::string out;
  ranks.for_each([&](Rank rank) { out += cat(out.empty() ? "" : ",", rank); });
  return out;
}

// What libpmix says of a process that is asked for its data.
struct Asked {
  AgentLink& link;
  Id id;
};

void data_there(pmix_status_t status, char* data, std::size_t size, void* about) {
  const std::unique_ptr<Asked> asked(static_cast<Asked*>(about));
  msg::Data answer;
  answer.id = asked->id;
  answer.status = is_fine(status) ? Status::ok : Status::not_found;
  if (is_fine(status) && data != nullptr) answer.blob.assign(data, size);
  asked->link.post(answer);
}

}  // namespace

std::string Server::set_up(const msg::Setup& setup) {
  setup_ = setup;
  nspace_ = setup.nspace;
  map_ = RankMap::from_blocks(setup.map);
  own_ = map_.ranks_of(setup.node);
  if (setup.node >= setup.hosts.size() || nspace_.empty() || nspace_.size() > PMIX_MAX_NSLEN) {
    return "the job has no name that PMIx could use, or no names of nodes";
  }
  pmix_status_t status = initialise(setup);
  if (!is_fine(status)) return said("begin", status);
  status = register_job(setup);
  if (!is_fine(status)) return said("take the job", status);
  status = register_ranks();
  if (!is_fine(status)) return said("take the ranks", status);
  link_.post(msg::Ready{});
  return {};
}

pmix_status_t Server::initialise(const msg::Setup& setup) {
  Infos infos;
  infos.add(PMIX_SERVER_NSPACE, cat(nspace_, "-servers"));
  infos.add_rank(PMIX_SERVER_RANK, setup.node);
  infos.add(PMIX_SERVER_TMPDIR, setup.directory);
  infos.add(PMIX_SYSTEM_TMPDIR, setup.directory);
  // Nodes that share a machine are told apart by their names, not by the machine's.
  infos.add(PMIX_HOSTNAME, setup.hosts[setup.node]);
  infos.add(PMIX_SERVER_TOOL_SUPPORT, true);
  // Else every rank of Open MPI finds it out again, a third of what its start costs.
  infos.add(PMIX_SERVER_SHARE_TOPOLOGY, true);
  const pmix_status_t status = PMIx_server_init(upcalls_for(*this), infos.data(), infos.size());
  if (is_fine(status)) help_tools(setup);
  return status;
}

// Tools look for a file named by what the machine calls itself, without a domain, which may be
// another name.
void Server::help_tools(const msg::Setup& setup) {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return;
  const std::string_view whole(name);
  const std::string_view own = whole.substr(0, whole.find('.'));
  if (setup.hosts[setup.node] == own) return;
  const std::string of_node = cat("pmix.", setup.hosts[setup.node], ".tool.", ::getpid());
  const std::string of_machine = cat(setup.directory, "/pmix.", own, ".tool.", ::getpid());
  static_cast<void>(::symlink(of_node.c_str(), of_machine.c_str()));
}

pmix_status_t Server::register_job(const msg::Setup& setup) {
  std::string names;
  std::string places;
  std::uint32_t nodes = 0;
  for_each_node(map_, setup.hosts.size(), [&](std::uint32_t node, const RankSet& ranks) {
    if (nodes++ > 0) {
      names += ',';
      places += ';';
    }
    names += setup.hosts[node];
    places += listed(ranks);
  });
  char* made = nullptr;
  pmix_status_t status = PMIx_generate_regex(names.c_str(), &made);
  const Text node_map(made);
  if (!is_fine(status)) return status;
  made = nullptr;
  status = PMIx_generate_ppn(places.c_str(), &made);
  const Text proc_map(made);
  if (!is_fine(status)) return status;

  const std::uint32_t size = map_.size();
  const auto local = static_cast<std::uint32_t>(own_.size());
  Infos infos;
  infos.add_regex(PMIX_NODE_MAP, node_map.get());
  infos.add_regex(PMIX_PROC_MAP, proc_map.get());
  infos.add(PMIX_JOBID, nspace_);
  if (setup.universe > 0) infos.add(PMIX_UNIV_SIZE, setup.universe);
  infos.add(PMIX_JOB_SIZE, size);
  infos.add(PMIX_MAX_PROCS, size);
  infos.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(setup.programs.size()));
  infos.add(PMIX_NUM_NODES, nodes);
  infos.add(PMIX_LOCAL_SIZE, local);
  infos.add(PMIX_LOCAL_PEERS, listed(own_));
  infos.add_rank(PMIX_LOCALLDR, own_.empty() ? 0 : own_.front());
  infos.add(PMIX_NODEID, setup.node);
  infos.add(PMIX_TMPDIR, setup.rank_directory);
  infos.add(PMIX_NSDIR, setup.rank_directory);
  infos.add(PMIX_TDIR_RMCLEAN, true);  // the agent removes it with the node's
  // Per rank only of this node: what others need of the rest follows from the two maps.
  own_.for_each([&](Rank rank) {
    Infos of;
    of.add_rank(PMIX_RANK, rank);
    const auto position = static_cast<std::uint16_t>(own_.index_of(rank));
    of.add_short(PMIX_LOCAL_RANK, position);
    of.add_short(PMIX_NODE_RANK, position);
    of.add(PMIX_NODEID, setup.node);
    of.add(PMIX_HOSTNAME, setup.hosts[setup.node]);
    of.add_rank(PMIX_GLOBAL_RANK, rank);
    of.add(PMIX_PROCDIR, setup.rank_directory);
    for (std::uint32_t number = 0; number < setup.programs.size(); ++number) {
      const RankSet& ranks = setup.programs[number].ranks;
      if (!ranks.contains(rank)) continue;
      of.add(PMIX_APPNUM, number);
      of.add_rank(PMIX_APPLDR, ranks.front());
      of.add_rank(PMIX_APP_RANK, static_cast<pmix_rank_t>(ranks.index_of(rank)));
    }
    infos.add(PMIX_PROC_INFO_ARRAY, of);
  });
  return PMIx_server_register_nspace(nspace_.c_str(), static_cast<int>(local), infos.data(),
                                     infos.size(), nullptr, nullptr);
}

pmix_status_t Server::register_ranks() {
  pmix_status_t status = PMIX_SUCCESS;
  own_.for_each([&](Rank rank) {
    const pmix_proc_t proc = process(rank);
    if (is_fine(status)) {
      status =
          PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr);
    }
    char** variables = nullptr;
    if (is_fine(status)) status = PMIx_server_setup_fork(&proc, &variables);
    if (!is_fine(status)) return;
    msg::Environment environment{rank, {}};
    for (char** at = variables; at != nullptr && *at != nullptr; ++at) {
      environment.variables.emplace_back(*at);
      std::free(*at);
    }
    std::free(variables);
    link_.post(environment);
  });
  return status;
}

void Server::receive(const Message& message) {
  if (const auto* event = std::get_if<msg::Event>(&message)) return deliver(*this, *event);
  if (const auto* failed = std::get_if<msg::RanksFailed>(&message)) return deliver(*this, *failed);
  const auto* asked = std::get_if<msg::DataAsked>(&message);
  if (asked == nullptr) return;
  auto about = std::make_unique<Asked>(Asked{link_, asked->id});
  const pmix_proc_t proc = process(asked->rank);
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, data_there, about.get());
  if (status == PMIX_SUCCESS) {
    static_cast<void>(about.release());  // data_there() has it
  } else {
    link_.post(msg::Data{asked->id, Status::not_found, {}});
  }
}

pmix_proc_t Server::process(Rank rank) const {
  pmix_proc_t proc{};
  nspace_.copy(proc.nspace, PMIX_MAX_NSLEN);
  proc.rank = rank;
  return proc;
}

bool Server::is_ours(const pmix_proc_t& proc) const {
  return nspace_ == proc.nspace && (proc.rank == PMIX_RANK_WILDCARD || proc.rank < map_.size());
}

Rank Server::speaker(const pmix_proc_t& proc) const {
  if (nspace_ == proc.nspace) return proc.rank;
  return own_.empty() ? 0 : own_.front();
}

RankSet Server::ranks_of(const pmix_proc_t procs[], std::size_t count) const {
  RankSet ranks;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_ours(procs[i])) return {};
    if (procs[i].rank == PMIX_RANK_WILDCARD) return RankSet::run(0, map_.size());
    ranks.add(procs[i].rank);
  }
  return ranks;
}

}  // namespace scela::pmix
