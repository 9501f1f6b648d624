#include "launcher/io/output_settings.h"

#include "common/core/line_marks.h"
#include "launcher/core/report/file_names.h"
#include "launcher/report/job_records.h"

namespace scela {

namespace {

const char* name_of(OutputStream stream) {
  return stream == OutputStream::out ? "out" : "err";
}

// Returns the function that makes the label of each stream as the agents make it.
std::function<std::string(Rank, OutputStream)> labels_of(const Plan& plan, Rank ranks) {
  return [&plan, ranks](Rank rank, OutputStream stream) {
    const std::string host = plan.host_of(rank);
    return stream_pattern_text(plan.job.label, {host, plan.job.map.node_of(rank).value_or(0), rank,
                                                ranks, plan.job.id, name_of(stream)});
  };
}

}  // namespace

Result<PresentationSettings> presentation_settings(const Options& options, const Plan& plan) {
  PresentationSettings settings;
  settings.ranks = plan.job.map.size();
  if (!plan.job.label.empty()) settings.label = labels_of(plan, settings.ranks);
  settings.timestamp = plan.job.timestamps;
  settings.prompts = plan.job.stdin_ranks;
  settings.records = options.json == JobRecords::kStandardOutput;
  settings.host_of = [&plan](Rank rank) { return plan.host_of(rank); };
  if (plan.pty) settings.terminal = plan.stdin_to.rank;
  settings.files = options.output_dir.has_value();
  if (!settings.files) return settings;
  std::string pattern = options.output_name;
  if (pattern.empty()) pattern = plan.once_per_host ? kFileOfHost : kFileOfRank;
  if (auto fits = check_file_pattern(pattern, plan.once_per_host); !fits) return fail(fits.error());
  settings.file_name = [&plan, pattern, ranks = settings.ranks](Rank rank, OutputStream stream) {
    const std::string host = plan.host_of(rank);
    StreamParts parts;
    parts.host = host;
    parts.node = plan.job.map.node_of(rank).value_or(0);
    parts.rank = rank;
    parts.ranks = ranks;
    parts.job = plan.job.id;
    parts.stream = name_of(stream);
    return expand_file_pattern(pattern, parts);
  };
  return settings;
}

}  // namespace scela
