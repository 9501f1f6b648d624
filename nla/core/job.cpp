#include "nla/core/job.h"

#include <algorithm>
#include <optional>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "nla/core/fields.h"

namespace scela {
auto fields(nla::Is<RankMap::Block> auto& block) {
  return std::tie(block.first_node, block.nodes, block.ranks_per_node);
}
auto fields(nla::Is<TerminalModes> auto& modes) {
  return std::tie(modes.echo, modes.utf8, modes.keys);
}
}  // namespace scela

namespace scela::nla {

constexpr OnFailure last_value(OnFailure) {
  return OnFailure::wait;
}
constexpr BindTo last_value(BindTo) {
  return BindTo::core;
}
constexpr PmiKind last_value(PmiKind) {
  return PmiKind::pmgr_mvapich1;
}
constexpr Label last_value(Label) {
  return Label::host;
}

auto fields(Is<App> auto& app) {
  return std::tie(app.argv, app.env, app.wdir, app.path, app.ranks);
}

namespace {

// More ranks than any machine has; products and sums of ranks stay far from 2^32.
constexpr std::uint64_t kMostRanks = std::uint64_t{1} << 31;
// A file name everywhere, with room for what directories and segments add to it.
constexpr std::size_t kLongestId = 128;

// The map's blocks stand between the two parts.
auto head_of(Is<Job> auto& job) {
  return std::tie(job.id, job.apps);
}
auto tail_of(Is<Job> auto& job) {
  return std::tie(job.env, job.wdir, job.stdin_ranks, job.on_failure, job.bind_to, job.pmi,
                  job.grace_ms, job.cache_policy, job.cache_limit, job.trace, job.once_per_host,
                  job.host_timeout_ms, job.label, job.timestamps, job.plain_output, job.ahead_s,
                  job.terminal_ranks, job.window, job.modes);
}

using Fault = std::optional<std::string>;

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

// It becomes part of file names on every node: nothing that could lead out of a directory.
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
    if (ranks > kMostRanks) return cat("its rank map has more than ", kMostRanks, " ranks");
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
  if (has_nul(app.wdir) || has_nul(app.path)) return "a directory has a NUL byte in it";
  return std::nullopt;
}

Fault fault_of(const Job& job) {
  if (Fault fault = fault_of_id(job.id)) return fault;
  if (job.apps.empty()) return "it has no application";
  const RankSet all = RankSet::run(0, job.map.size());
  RankSet seen;
  for (const App& app : job.apps) {
    if (Fault fault = fault_of_app(app)) return fault;
    if (seen.intersects(app.ranks)) return "two applications share a rank";
    seen.add(app.ranks);
  }
  if (seen != all) {
    return cat("its applications have the ranks ", seen.text(), ", its map has ", all.text());
  }
  if (std::any_of(job.env.begin(), job.env.end(), has_nul) || has_nul(job.wdir)) {
    return "a variable or directory has a NUL byte in it";
  }
  if (!all.contains_all(job.stdin_ranks)) {
    return cat("standard input goes to the ranks ", job.stdin_ranks.text(), ", it has ",
               all.text());
  }
  if (job.terminal_ranks.size() > 1 || !all.contains_all(job.terminal_ranks)) {
    return cat("the ranks ", job.terminal_ranks.text(), " have a terminal, one of ", all.text(),
               " may");
  }
  if (job.cache_policy == cache::PolicyKind::dht && job.on_failure == OnFailure::wait) {
    return "it goes on without agents that are lost, and each holds pairs of others";
  }
  return std::nullopt;
}

}  // namespace

std::size_t Job::app_of(Rank rank) const {
  std::size_t at = 0;
  while (at < apps.size() && !apps[at].ranks.contains(rank))
    ++at;
  return at;
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

}  // namespace scela::nla
