#include "nla/core/wire/job.h"

#include <algorithm>
#include <optional>

#include "common/core/bytes.h"
#include "common/core/line_marks.h"
#include "common/core/text.h"
#include "nla/core/wire/fields.h"
#include "nla/core/wire/terminal_input.h"

namespace scela {
auto fields(nla::Is<RankMap::Block> auto& block) {
  return std::tie(block.first_node, block.nodes, block.ranks_per_node);
}
auto fields(nla::Is<TerminalModes> auto& modes) {
  return std::tie(modes.echo, modes.utf8, modes.keys);
}
auto fields(nla::Is<PlacementPolicy> auto& placement) {
  return std::tie(placement.map_by, placement.bind_to, placement.order, placement.cpus_per_rank,
                  placement.overload, placement.report, placement.memory);
}
auto fields(nla::Is<CoreChoice> auto& choice) {
  return std::tie(choice.socket, choice.cores);
}
constexpr MapBy last_value(MapBy) {
  return MapBy::socket;
}
constexpr BindTo last_value(BindTo) {
  return BindTo::socket;
}
constexpr MemoryBinding last_value(MemoryBinding) {
  return MemoryBinding::interleave;
}
constexpr PlaceOrder last_value(PlaceOrder) {
  return PlaceOrder::socket;
}
}  // namespace scela

namespace scela::nla {

constexpr OnFailure last_value(OnFailure) {
  return OnFailure::wait;
}
constexpr PmiKind last_value(PmiKind) {
  return PmiKind::none;
}

auto fields(Is<App> auto& app) {
  return std::tie(app.argv, app.env, app.wdir, app.path, app.ranks, app.by_shell);
}
auto fields(Is<EnvStyles> auto& styles) {
  return std::tie(styles.torch, styles.ompi, styles.mpich, styles.slurm);
}
auto fields(Is<Rendezvous> auto& point) {
  return std::tie(point.address, point.port);
}
auto fields(Is<Training> auto& training) {
  return std::tie(training.styles, training.master, training.node_list, training.expands_words,
                  training.gpus_per_rank, training.restarts, training.max_restarts,
                  training.run_id);
}
auto fields(Is<World> auto& world) {
  return std::tie(world.first, world.parent, world.apps, world.preput, world.stops,
                  world.first_host, world.hosts);
}

namespace {

// A job has at most this many ranks, which is more than any machine has. So numbers of ranks stay
// well below 2^32.
constexpr std::uint64_t kMaxRanks = std::uint64_t{1} << 31;
// A name of this length is a file name on every system, with room for what directories and segments
// add to it.
constexpr std::size_t kLongestId = 128;

// The map's blocks stand between the two parts.
auto head_of(Is<Job> auto& job) {
  return std::tie(job.id, job.apps);
}
auto tail_of(Is<Job> auto& job) {
  return std::tie(job.training, job.env, job.wdir, job.hosts, job.stops, job.keep, job.stdin_ranks,
                  job.on_failure, job.placement, job.chosen_cores, job.pmi, job.universe,
                  job.grace_ms, job.cache_policy, job.cache_limit, job.trace, job.once_per_host,
                  job.host_timeout_ms, job.label, job.timestamps, job.plain_output, job.ahead_s,
                  job.terminal_ranks, job.input_by_rank, job.window, job.modes, job.debugged_ranks,
                  job.debugger);
}

using Fault = std::optional<std::string>;

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

// The identifier becomes part of file names on every node, so it must not lead out of a directory.
Fault fault_of_id(const std::string& id) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (!id.empty() && id.size() <= kLongestId && id.front() != '.' &&
      std::all_of(id.begin(), id.end(), fits)) {
    return std::nullopt;
  }
  return cat("its identifier '", id, "' is not 1 to ", kLongestId,
             " letters, digits, '-', '_' and '.'");
}

Fault fault_of_map(const std::vector<RankMap::Block>& blocks) {
  std::uint64_t ranks = 0;
  for (const RankMap::Block& block : blocks) {
    if (block.nodes == 0 || block.ranks_per_node == 0) return "its rank map has an empty block";
    if (std::uint64_t{block.first_node} + block.nodes > UINT32_MAX) {
      return cat("its rank map has node ", block.first_node, " + ", block.nodes);
    }
    ranks += std::uint64_t{block.nodes} * block.ranks_per_node;  // at most 2^64 - 2^33 + 1, once
    if (ranks > kMaxRanks) return cat("its rank map has more than ", kMaxRanks, " ranks");
  }
  if (ranks == 0) return "it has no ranks";
  return std::nullopt;
}

Fault fault_of_app(const App& app) {
  if (app.argv.empty() || app.argv.front().empty()) return "an application has no program";
  if (app.ranks.empty()) return "an application has no ranks";
  for (const auto* list : {&app.argv, &app.env}) {
    if (std::any_of(list->begin(), list->end(), has_nul)) {
      return "an argument or variable has a NUL byte in it";
    }
  }
  if (app.by_shell && app.argv.size() != 1) return "an application has several texts for a shell";
  if (has_nul(app.wdir) || has_nul(app.path)) return "a directory has a NUL byte in it";
  return std::nullopt;
}

Fault fault_of_apps(const std::vector<App>& apps, const RankSet& all) {
  if (apps.empty()) return "it has no application";
  RankSet seen;
  for (const App& app : apps) {
    if (Fault fault = fault_of_app(app)) return fault;
    if (seen.intersects(app.ranks)) return "two applications share a rank";
    seen.add(app.ranks);
  }
  if (seen == all) return std::nullopt;
  return cat("its applications have the ranks ", seen.text(), ", its map has ", all.text());
}

// Ranks are numbered in the world, which has `size` of them.
Fault fault_of_stops(const Stops& stops, Rank size) {
  const RankSet all = RankSet::run(0, size);
  for (const RankSet* ranks : {&stops.on_exec, &stops.in_init}) {
    if (all.contains_all(*ranks)) continue;
    return cat("the ranks ", ranks->text(), " of ", size, " are stopped for a debugger");
  }
  return std::nullopt;
}

Fault fault_of_terminals(const Job& job, const RankSet& all) {
  const std::size_t most = job.input_by_rank ? kMaxTerminals : 1;
  if (job.terminal_ranks.size() > most || !all.contains_all(job.terminal_ranks)) {
    return cat("the ranks ", job.terminal_ranks.text(), " have a terminal, ", most, " of ",
               all.text(), " may");
  }
  if (job.input_by_rank && job.stdin_ranks != job.terminal_ranks) {
    return cat("input by rank goes to the ranks ", job.stdin_ranks.text(), ", the ranks ",
               job.terminal_ranks.text(), " have a terminal");
  }
  if (!all.contains_all(job.debugged_ranks)) {
    return cat("the ranks ", job.debugged_ranks.text(), " are debugged, it has ", all.text());
  }
  const std::vector<std::string>& words = job.debugger;
  if (!job.debugged_ranks.empty() && (words.empty() || words.front().empty())) {
    return "its ranks run under a debugger without a name";
  }
  if (std::any_of(words.begin(), words.end(), has_nul)) return "a debugger has a NUL byte in it";
  return std::nullopt;
}

Fault fault_of(const Job& job) {
  if (Fault fault = fault_of_id(job.id)) return fault;
  const RankSet all = RankSet::run(0, job.map.size());
  if (Fault fault = fault_of_apps(job.apps, all)) return fault;
  if (std::any_of(job.env.begin(), job.env.end(), has_nul) || has_nul(job.wdir)) {
    return "a variable or directory has a NUL byte in it";
  }
  if (!all.contains_all(job.stdin_ranks)) {
    return cat("standard input goes to the ranks ", job.stdin_ranks.text(), ", it has ",
               all.text());
  }
  if (Fault fault = fault_of_terminals(job, all)) return fault;
  if (Fault fault = fault_of_stops(job.stops, job.map.size())) return fault;
  if (job.placement.cpus_per_rank == 0 || job.placement.cpus_per_rank > kMaxCpusPerRank) {
    return cat("each of its ranks needs ", job.placement.cpus_per_rank, " cores");
  }
  if (const std::string why = label_fault(job.label); !why.empty())
    return cat("of the label of its lines, ", why);
  const Training& training = job.training;
  if (has_nul(training.master.address) || has_nul(training.node_list) || has_nul(training.run_id)) {
    return "a variable of its training has a NUL byte in it";
  }
  if (job.cache_policy == cache::PolicyKind::dht && job.on_failure == OnFailure::wait) {
    return "it goes on without agents that are lost, and each holds pairs of others";
  }
  return std::nullopt;
}

RankSet nodes_in(const RankMap& map) {
  RankSet nodes;
  for (const RankMap::Block& block : map.blocks())
    nodes.add(RankSet::run(block.first_node, block.nodes));
  return nodes;
}

}  // namespace

std::size_t Job::app_of(Rank rank) const {
  std::size_t at = 0;
  while (at < apps.size() && !apps[at].ranks.contains(rank))
    ++at;
  return at;
}

std::size_t Job::world_of(Rank rank) const {
  const auto at =
      std::upper_bound(worlds.begin(), worlds.end(), rank,
                       [](Rank wanted, const World& world) { return wanted < world.first; });
  return static_cast<std::size_t>(at - worlds.begin());
}

RankSet Job::ranks_of_world(std::size_t world) const {
  if (world > 0) return worlds[world - 1].ranks();
  return RankSet::run(0, worlds.empty() ? map.size() : worlds.front().first);
}

std::int64_t Job::universe_size() const {
  if (universe < 0) return -1;
  return std::max<std::int64_t>(universe, map_of_world(0).size());
}

const RankMap& Job::map_of_world(std::size_t world) const {
  if (world > 0) return worlds[world - 1].map;
  return worlds.empty() ? map : first_map_;
}

bool Job::stops_on_exec(Rank rank) const {
  const std::size_t world = world_of(rank);
  const RankSet& stopped = stops_of_world(world).on_exec;
  return !stopped.empty() && stopped.contains(rank - ranks_of_world(world).front());
}

std::size_t Job::first_app_of_world(std::size_t world) const {
  return world == 0 ? 0 : first_apps_[world - 1];
}

std::string Job::name_of_world(std::size_t world) const {
  return world == 0 ? id : cat(id, ".", world);
}

std::string Job::key_prefix(std::size_t world) {
  return world == 0 ? std::string() : cat('\0', world, '\0');
}

Job Job::as_it_began() const {
  Job first = *this;
  if (worlds.empty()) return first;
  first.map = first_map_;
  first.apps.resize(first_apps_.front());
  first.worlds.clear();
  first.first_map_ = RankMap();
  first.first_apps_.clear();
  first.nodes_ = RankSet();
  first.nodes_of_worlds_.clear();
  return first;
}

bool Job::is_everywhere(const RankSet& ranks) const {
  if (worlds.empty()) return ranks.size() == map.size();
  const std::size_t world = ranks.empty() ? 0 : world_of(ranks.front());
  return ranks == ranks_of_world(world) && nodes_of_worlds_[world] == nodes_;
}

Result<void> Job::add(World world) {
  const auto broken = [](std::string why) {
    return fail(Error{ErrorKind::protocol, "add ranks to the job", "", std::move(why), ""});
  };
  if (world.first != map.size() || world.map.size() == 0 ||
      std::uint64_t{world.first} + world.map.size() > kMaxRanks) {
    return broken(cat("ranks from ", world.first, " on cannot follow ", map.size()));
  }
  if (Fault fault = fault_of_apps(world.apps, world.ranks())) return broken(*std::move(fault));
  if (Fault fault = fault_of_stops(world.stops, world.map.size())) return broken(*std::move(fault));
  if (worlds.empty()) {
    first_map_ = map;
    nodes_ = nodes_in(map);
    nodes_of_worlds_ = {nodes_};
  }
  // The blocks stay as they are, because what a world is told of its own blocks must not change.
  std::vector<RankMap::Block> blocks = map.blocks();
  blocks.insert(blocks.end(), world.map.blocks().begin(), world.map.blocks().end());
  map = RankMap::from_blocks(std::move(blocks));
  nodes_of_worlds_.push_back(nodes_in(world.map));
  nodes_.add(nodes_of_worlds_.back());
  // An agent that knows these hosts already may be told again.
  for (std::size_t i = 0; i < world.hosts.size(); ++i) {
    if (world.first_host + i == hosts.size()) hosts.push_back(world.hosts[i]);
  }
  first_apps_.push_back(apps.size());
  apps.insert(apps.end(), world.apps.begin(), world.apps.end());
  worlds.push_back(std::move(world));
  return {};
}

std::string encode(const Job& job) {
  ByteWriter out;
  FieldWriter writer(out);
  writer.each(head_of(job));
  writer.put(job.map.blocks());
  writer.each(tail_of(job));
  return out.take();
}

Result<Job> decode_job(std::string_view bytes) {
  const auto broken = [](std::string why) {
    return fail(Error{ErrorKind::protocol, "read the job", "", std::move(why), ""});
  };
  ByteReader in(bytes);
  FieldReader reader(in);
  Job job;
  std::vector<RankMap::Block> blocks;
  reader.each(head_of(job));
  reader.get(blocks);
  reader.each(tail_of(job));
  if (!in.ok()) return broken(cat("its ", bytes.size(), " bytes are too few or malformed"));
  if (!in.done()) return broken(cat(in.rest().size(), " bytes follow its last field"));
  if (Fault fault = fault_of_map(blocks)) return broken(*std::move(fault));
  job.map = RankMap::from_blocks(std::move(blocks));
  if (Fault fault = fault_of(job)) return broken(*std::move(fault));
  return job;
}

std::string encode(const World& world) {
  ByteWriter out;
  FieldWriter writer(out);
  writer.all(world);
  writer.put(world.map.blocks());
  return out.take();
}

Result<World> decode_world(std::string_view bytes) {
  const auto broken = [](std::string why) {
    return fail(Error{ErrorKind::protocol, "read ranks to add", "", std::move(why), ""});
  };
  ByteReader in(bytes);
  FieldReader reader(in);
  World world;
  std::vector<RankMap::Block> blocks;
  reader.all(world);
  reader.get(blocks);
  if (!in.ok() || !in.done()) return broken(cat("its ", bytes.size(), " bytes are malformed"));
  if (Fault fault = fault_of_map(blocks)) return broken(*std::move(fault));
  world.map = RankMap::from_blocks(std::move(blocks));
  return world;
}

}  // namespace scela::nla
