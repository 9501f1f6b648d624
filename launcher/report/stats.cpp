#include "launcher/report/stats.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/core/counted.h"
#include "common/core/kary_tree.h"
#include "common/core/text.h"

namespace scela {

namespace {

struct Span {
  const char* name;
  const char* text;
  std::int64_t from;
  std::int64_t to;
};

std::vector<Span> spans(const Phases& p) {
  return {{"prepare", "read the command and plan the job", p.begin, p.tree},
          {"tree", "start the agents", p.tree, p.ready},
          {"launch", "start the ranks", p.ready, p.launched},
          {"run", "run until every node is clean", p.launched, p.ended},
          {"leave", "wait for the agents to leave", p.ended, p.gone},
          {"total", "in all", p.begin, p.gone}};
}

double ms(const Span& span) {
  if (span.from == 0 || span.to == 0 || span.to < span.from) return 0;
  return static_cast<double>(span.to - span.from) / 1e6;
}

}  // namespace

std::vector<std::pair<std::string, std::optional<std::uint64_t>>> phase_times(
    const Phases& phases) {
  std::vector<std::pair<std::string, std::optional<std::uint64_t>>> out;
  for (const Span& span : spans(phases)) {
    const bool is_reached = span.from != 0 && span.to != 0 && span.to >= span.from;
    out.emplace_back(span.name, is_reached
                                    ? std::optional<std::uint64_t>((span.to - span.from) / 1000)
                                    : std::nullopt);
  }
  return out;
}

JobNumbers numbers_of(const Plan& plan, const RankSet& unspawned) {
  JobNumbers numbers;
  numbers.nodes = static_cast<std::uint32_t>(plan.hosts.size());
  numbers.ranks = plan.job.map.size() - static_cast<Rank>(unspawned.size());
  numbers.degree = plan.degree;
  for (const Slice& part : split({0, numbers.nodes}, plan.degree)) {
    numbers.depth = std::max(numbers.depth, height(part, plan.degree));
  }
  return numbers;
}

std::string stats_text(const Phases& phases, const JobNumbers& job, const nla::Stats& stats,
                       const RankCounters& counters) {
  std::string out =
      cat("scela-run: ", counted(job.ranks, "rank"), " on ", counted(job.nodes, "node"),
          ", degree ", job.degree, ", depth ", job.depth, "\n");
  for (const Span& span : spans(phases)) {
    char line[120];
    std::snprintf(line, sizeof line, "scela-run:   %-8s %9.2f ms  %s\n", span.name, ms(span),
                  span.text);
    out += line;
  }
  out += cat("scela-run:   messages ", stats.messages, ", ", stats.bytes, " bytes on links, ",
             stats.output_bytes, " bytes of output\n");
  out +=
      cat("scela-run:   largest agent ", stats.max_private_bytes / 1024, " KiB private, ",
          stats.max_resident_bytes / 1024, " KiB resident, cache ", stats.cache_bytes, " bytes\n");
  if (stats.root_cache_bytes > 0) {
    out += cat("scela-run:   scela-run's own cache ", stats.root_cache_bytes, " bytes\n");
  }
  return out + counters.text(job.ranks);
}

std::string stats_json(const Phases& phases, const JobNumbers& job, const nla::Stats& stats,
                       const RankCounters& counters) {
  nlohmann::ordered_json out;
  out["nodes"] = job.nodes;
  out["ranks"] = job.ranks;
  out["degree"] = job.degree;
  out["depth"] = job.depth;
  for (const Span& span : spans(phases))
    out["phases_ms"][span.name] = ms(span);
  out["agents"] = stats.agents;
  out["messages"] = stats.messages;
  out["link_bytes"] = stats.bytes;
  out["output_bytes"] = stats.output_bytes;
  out["max_private_bytes"] = stats.max_private_bytes;
  out["max_resident_bytes"] = stats.max_resident_bytes;
  out["max_cache_bytes"] = stats.cache_bytes;
  out["root_cache_bytes"] = stats.root_cache_bytes;
  out["counters"] = nlohmann::ordered_json::parse(counters.json());
  return out.dump() + "\n";
}

void TraceFile::add(std::uint32_t node, std::string_view piece) {
  if (path_.empty()) return;
  lines_.add(node, piece, [this](std::string_view line) {
    if (line.starts_with(R"({"name":)") && nlohmann::json::accept(line)) file_ << line << ",\n";
  });
}

void TraceFile::add_launcher(const Phases& phases) {
  for (const Span& span : spans(phases)) {
    if (ms(span) <= 0) continue;
    const nlohmann::json event = {{"name", span.name},
                                  {"ph", "X"},
                                  {"pid", 0},
                                  {"tid", std::strcmp(span.name, "total") == 0 ? 1 : 0},
                                  {"ts", static_cast<double>(span.from) / 1e3},
                                  {"dur", ms(span) * 1e3}};
    file_ << event.dump() << ",\n";
  }
}

Result<void> TraceFile::open(const std::string& path) {
  path_ = path;
  file_.open(path);
  file_ << "[\n";
  if (file_) return {};
  return fail(Error{ErrorKind::io, cat("write the trace '", path, "'"), "", errno_text(errno),
                    "name a file that can be made with --trace"});
}

Result<void> TraceFile::write() {
  const auto name = [&](std::size_t process, const std::string& text) {
    const nlohmann::json event = {
        {"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", text}}}};
    return event.dump();
  };
  file_ << name(0, "scela-run") << "\n]\n";
  file_.close();
  if (file_) return {};
  return fail(
      Error{ErrorKind::io, cat("write the trace '", path_, "'"), "", errno_text(errno), ""});
}

}  // namespace scela
