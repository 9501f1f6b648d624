#include "pmix/server/pmix_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "common/core/text.h"
#include "pmix/server/held_ranks.h"
#include "pmix/server/infos.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using Text = std::unique_ptr<char, Free>;

// Returns true for both statuses of success.
bool is_fine(pmix_status_t status) {
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

// In bytes. libpmix starts with less address space, too, but goes on without the components that it
// could not load, and then hears no client. memory.cpp handles allocations that fail later.
constexpr rlim_t kLeastAddressSpace = rlim_t{64} << 20;

// Returns an empty string if the address space suffices, else an error text.
std::string lack_of_memory() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur >= kLeastAddressSpace)
    return {};
  return cat("there is no memory for libpmix: its process may have ", limit.rlim_cur >> 20,
             " MiB of addresses (ulimit -v), and needs ", kLeastAddressSpace >> 20);
}

std::string said(const char* what, pmix_status_t status) {
  return cat("libpmix could not ", what, ": ", PMIx_Error_string(status));
}

// Calls `each` for every node of the map, in the order of node numbers, with the node's ranks.
template <class Each>
void for_each_node(const RankMap& map, Each each) {
  std::set<std::uint32_t> nodes;
  for (const RankMap::Block& block : map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i)
      nodes.insert(block.first_node + i);
  }
  for (const std::uint32_t node : nodes)
    each(node, map.ranks_of(node));
}

std::string listed(const RankSet& ranks) {
  std::string out;
  ranks.for_each([&](Rank rank) { out += cat(out.empty() ? "" : ",", rank); });
  return out;
}

// A request to libpmix for a process's data, and the function that gets the answer.
struct Asked {
  Id id;
  std::function<void(msg::Data)> then;
};

// The first and the longest delay, in milliseconds, before the server looks again for a key that a
// rank has not put yet. Shorter delays cost more work for a rank that never puts the key. Longer
// ones delay the process that waits for it.
constexpr AgentLink::Limit kFirstLook{5};
constexpr AgentLink::Limit kLastLook{100};

void data_there(pmix_status_t status, char* data, std::size_t size, void* about) {
  const std::unique_ptr<Asked> asked(static_cast<Asked*>(about));
  msg::Data answer;
  answer.id = asked->id;
  answer.status = is_fine(status) ? Status::ok : Status::not_found;
  if (is_fine(status) && data != nullptr) answer.blob.assign(data, size);
  asked->then(answer);
}

}  // namespace

std::size_t Space::nodes() const {
  std::size_t count = 0;
  for_each_node(map, [&](std::uint32_t, const RankSet&) { ++count; });
  return count;
}

RankSet Space::ranks_of(std::uint32_t node) const {
  RankSet out;
  map.ranks_of(node).for_each([&](Rank rank) { out.add(first + rank); });
  return out;
}

std::string server_namespace(const msg::Setup& setup) {
  return cat(setup.job, "-servers");
}

std::string Server::set_up(const msg::Setup& setup) {
  setup_ = setup;
  hosts_ = setup.hosts;
  if (setup.node >= setup.hosts.size() || setup.job.empty()) {
    return "the job has no name that PMIx could use, or no names of nodes";
  }
  if (std::string lack = lack_of_memory(); !lack.empty()) return lack;
  const pmix_status_t status = initialise();
  // The limit may have been lowered meanwhile, so it is checked again.
  return is_fine(status) ? lack_of_memory() : said("begin", status);
}

pmix_status_t Server::initialise() {
  Infos infos;
  infos.add(PMIX_SERVER_NSPACE, server_namespace(setup_));
  infos.add_rank(PMIX_SERVER_RANK, setup_.node);
  infos.add(PMIX_SERVER_TMPDIR, setup_.directory);
  infos.add(PMIX_SYSTEM_TMPDIR, setup_.directory);
  // Nodes that share a machine differ in their own names, so libpmix must not use the machine's.
  infos.add(PMIX_HOSTNAME, setup_.hosts[setup_.node]);
  infos.add(PMIX_SERVER_TOOL_SUPPORT, true);
  // Otherwise libpmix would write the output for tools itself, and keep lines until they end.
  infos.add(PMIX_IOF_LOCAL_OUTPUT, false);
  // Otherwise every rank of Open MPI discovers the topology again, which takes a third of its
  // start.
  infos.add(PMIX_SERVER_SHARE_TOPOLOGY, true);
  const pmix_status_t status = PMIx_server_init(upcalls_for(*this), infos.data(), infos.size());
  if (is_fine(status)) {
    help_tools(setup_);
    watch_tools();
    watch_stopped_ranks();
  }
  return status;
}

// Tools look for a file that is named after the machine's host name, without its domain. The node
// may have another name, so the server makes a symbolic link for the tools.
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

std::string Server::take(const msg::World& world) {
  const RankMap map = RankMap::from_blocks(world.map);
  if (world.nspace.empty() || world.nspace.size() > PMIX_MAX_NSLEN || map.size() == 0) {
    return "ranks of the job have no name that PMIx could use";
  }
  const auto space = std::make_shared<const Space>(
      Space{world.nspace, world.first, map, world.universe, world.programs, world.stops});
  {
    const std::lock_guard guard(lock_);
    spaces_.push_back(space);
    if (world.hosts.size() > hosts_.size()) hosts_ = world.hosts;
  }
  pmix_status_t status = register_world(world, map);
  if (!is_fine(status)) return said("take the job", status);
  status = register_ranks(space->ranks_of(setup_.node));
  if (!is_fine(status)) return said("take the ranks", status);
  {
    const std::lock_guard guard(lock_);
    registered_ = spaces_.size();
  }
  link_.post(msg::Ready{});
  return {};
}

pmix_status_t Server::register_world(const msg::World& world, const RankMap& map) {
  std::string names;
  std::string places;
  std::uint32_t nodes = 0;
  for_each_node(map, [&](std::uint32_t node, const RankSet& ranks) {
    if (nodes++ > 0) {
      names += ',';
      places += ';';
    }
    names += host(node);
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

  const RankSet own = map.ranks_of(setup_.node);
  Infos infos;
  infos.add_regex(PMIX_NODE_MAP, node_map.get());
  infos.add_regex(PMIX_PROC_MAP, proc_map.get());
  infos.add(PMIX_JOBID, world.nspace);
  if (world.universe > 0) infos.add(PMIX_UNIV_SIZE, world.universe);
  infos.add(PMIX_JOB_SIZE, map.size());
  infos.add(PMIX_MAX_PROCS, map.size());
  infos.add(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(world.programs.size()));
  infos.add(PMIX_NUM_NODES, nodes);
  infos.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(own.size()));
  infos.add(PMIX_LOCAL_PEERS, listed(own));
  infos.add_rank(PMIX_LOCALLDR, own.empty() ? 0 : own.front());
  infos.add(PMIX_NODEID, setup_.node);
  infos.add(PMIX_TMPDIR, setup_.rank_directory);
  infos.add(PMIX_NSDIR, setup_.rank_directory);
  infos.add(PMIX_TDIR_RMCLEAN, true);  // the agent removes the directory
  add_stop_in_init(world, own, infos);
  if (world.parent) {
    infos.add(PMIX_SPAWNED, true);
    infos.add(PMIX_PARENT_ID, process(*world.parent));
  }
  // libpmix derives only the host name of a rank from the two maps, so the rest is given here.
  for_each_node(map, [&](std::uint32_t node, const RankSet& ranks) {
    const std::uint32_t before = ranks_before(world, node);
    std::uint32_t position = 0;
    ranks.for_each([&](Rank rank) {
      Infos of;
      describe(world, {rank, node, position, before + position}, of);
      ++position;
      infos.add(PMIX_PROC_INFO_ARRAY, of);
    });
  });
  return PMIx_server_register_nspace(world.nspace.c_str(), static_cast<int>(own.size()),
                                     infos.data(), infos.size(), nullptr, nullptr);
}

// Returns the number of ranks on that node in the worlds before this one.
std::uint32_t Server::ranks_before(const msg::World& world, std::uint32_t node) const {
  std::uint64_t count = 0;
  for (const SpacePtr& space : spaces())
    if (space->first < world.first) count += space->map.ranks_of(node).size();
  return static_cast<std::uint32_t>(count);
}

// Each value costs libpmix half a kilobyte in the server, and again in each of the ranks.
void Server::describe(const msg::World& world, const Place& place, Infos& of) const {
  const Rank number = world.first + place.rank;
  const bool here = place.node == setup_.node;
  of.add_rank(PMIX_RANK, place.rank);
  of.add_short(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(place.on_node));
  of.add_short(PMIX_NODE_RANK, static_cast<std::uint16_t>(place.of_job_on_node));
  of.add_rank(PMIX_GLOBAL_RANK, number);
  if (here) {
    of.add(PMIX_NODEID, place.node);
    of.add(PMIX_HOSTNAME, setup_.hosts[setup_.node]);
    of.add(PMIX_PROCDIR, setup_.rank_directory);
  } else {
    // For a rank on the same node the client computes the locality, with its own meaning of the
    // bits.
    of.add_short(PMIX_LOCALITY, PMIX_LOCALITY_NONLOCAL);
  }
  for (std::uint32_t program = 0; program < world.programs.size(); ++program) {
    const RankSet& ranks = world.programs[program].ranks;
    if (!ranks.contains(number)) continue;
    of.add(PMIX_APPNUM, program);
    if (here) of.add_rank(PMIX_APPLDR, ranks.front() - world.first);
    of.add_rank(PMIX_APP_RANK, static_cast<pmix_rank_t>(ranks.index_of(number)));
  }
}

pmix_status_t Server::register_ranks(const RankSet& ranks) {
  pmix_status_t status = PMIX_SUCCESS;
  ranks.for_each([&](Rank rank) {
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

std::string Server::receive(const Message& message) {
  if (const auto* world = std::get_if<msg::World>(&message)) return take(*world);
  if (const auto* asked = std::get_if<msg::DataAsked>(&message)) ask_for_data(*asked);
  if (const auto* no_more = std::get_if<msg::DataNoMore>(&message)) looking_.erase(no_more->id);
  if (const auto* event = std::get_if<msg::Event>(&message)) deliver(*this, *event);
  if (const auto* failed = std::get_if<msg::RanksFailed>(&message)) deliver(*this, *failed);
  if (const auto* stopped = std::get_if<msg::Stopped>(&message)) rank_stopped(stopped->rank);
  if (const auto* copy = std::get_if<msg::Copy>(&message)) pass_copy(*copy);
  return {};
}

// libpmix answers as soon as the rank has put anything, but a question for one key must wait for
// that key. libpmix does not report later puts to its host, so the server polls for the key.
void Server::ask_for_data(const msg::DataAsked& asked) {
  if (asked.key.empty())
    return request_data(asked, [this](const msg::Data& data) { link_.post(data); });
  looking_.insert(asked.id);
  request_data(asked, [this, asked](const msg::Data& data) {
    if (data.status != Status::ok) return link_.post(data);
    link_.later([this, asked] { look_for(asked, kFirstLook); });
  });
}

// When the key is there, the data is requested anew, because the key may have come after the first
// answer.
void Server::look_for(const msg::DataAsked& asked, AgentLink::Limit delay) {
  if (!looking_.contains(asked.id)) return;
  if (has_put(asked.rank, asked.key)) {
    looking_.erase(asked.id);
    return request_data(asked, [this](const msg::Data& data) { link_.post(data); });
  }
  link_.after(delay, [this, asked, delay] { look_for(asked, std::min(2 * delay, kLastLook)); });
}

void Server::request_data(const msg::DataAsked& asked, std::function<void(msg::Data)> then) {
  auto about = std::make_unique<Asked>(Asked{asked.id, std::move(then)});
  const pmix_proc_t proc = process(asked.rank);
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, data_there, about.get());
  if (status == PMIX_SUCCESS) {
    static_cast<void>(about.release());  // data_there() owns it now
  } else {
    link_.post(msg::Data{asked.id, Status::not_found, {}});
  }
}

bool Server::has_put(Rank rank, const std::string& key) const {
  const pmix_proc_t proc = process(rank);
  pmix_info_t here;
  PMIX_INFO_CONSTRUCT(&here);
  const bool yes = true;
  PMIX_INFO_LOAD(&here, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&proc, key.c_str(), &here, 1, &value);
  if (value != nullptr) PMIX_VALUE_RELEASE(value);
  PMIX_INFO_DESTRUCT(&here);
  return status == PMIX_SUCCESS;
}

std::vector<Server::SpacePtr> Server::spaces() const {
  const std::lock_guard guard(lock_);
  return spaces_;
}

Server::SpacePtr Server::space(const char* nspace) const {
  const std::lock_guard guard(lock_);
  const auto at =
      std::ranges::find_if(spaces_, [&](const SpacePtr& one) { return one->name == nspace; });
  return at == spaces_.end() ? nullptr : *at;
}

std::string Server::host(std::uint32_t node) const {
  const std::lock_guard guard(lock_);
  return node < hosts_.size() ? hosts_[node] : std::string();
}

pmix_proc_t Server::process(Rank rank) const {
  pmix_proc_t proc{};
  const auto all = spaces();
  const auto next =
      std::ranges::upper_bound(all, rank, {}, [](const SpacePtr& one) { return one->first; });
  if (next == all.begin()) return proc;
  const Space& space = **std::prev(next);
  space.name.copy(proc.nspace, PMIX_MAX_NSLEN);
  proc.rank = rank - space.first;
  return proc;
}

std::optional<Rank> Server::rank_of(const pmix_proc_t& proc) const {
  const SpacePtr found = space(proc.nspace);
  if (found == nullptr || proc.rank >= found->map.size()) return std::nullopt;
  return found->first + proc.rank;
}

Rank Server::speaker(const pmix_proc_t& proc) const {
  if (const auto rank = rank_of(proc)) return *rank;
  for (const SpacePtr& one : spaces()) {
    const RankSet here = one->ranks_of(setup_.node);
    if (!here.empty()) return here.front();
  }
  return 0;
}

RankSet Server::ranks_of(const pmix_proc_t procs[], std::size_t count) const {
  RankSet ranks;
  for (std::size_t i = 0; i < count; ++i) {
    const SpacePtr found = space(procs[i].nspace);
    if (found == nullptr) return {};
    if (procs[i].rank == PMIX_RANK_WILDCARD) {
      ranks.add(found->ranks());
    } else if (procs[i].rank < found->map.size()) {
      ranks.add(found->first + procs[i].rank);
    } else {
      return {};
    }
  }
  return ranks;
}

bool Server::is_coming(const pmix_proc_t& proc) const {
  const std::lock_guard guard(lock_);
  for (std::size_t i = 0; i < spaces_.size(); ++i) {
    if (spaces_[i]->name != proc.nspace) continue;
    return i >= registered_ && spaces_[i]->map.ranks_of(setup_.node).contains(proc.rank);
  }
  const std::string_view name = proc.nspace;
  const std::string prefix = setup_.job + '.';
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

}  // namespace scela::pmix
