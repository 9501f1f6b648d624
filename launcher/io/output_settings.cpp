#include "launcher/io/output_settings.h"

#include "launcher/core/report/file_names.h"
#include "launcher/report/job_records.h"

namespace scela {

Result<PresentationSettings> presentation_settings(const Options& options, const Plan& plan) {
  PresentationSettings settings;
  settings.ranks = plan.job.map.size();
  settings.label = plan.job.label != nla::Label::none;
  settings.timestamp = plan.job.timestamps;
  if (plan.once_per_host) settings.names = plan.hosts;
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
    FileNameParts parts;
    parts.host = plan.host_of(rank);
    parts.node = plan.job.map.node_of(rank).value_or(0);
    parts.rank = rank;
    parts.ranks = ranks;
    parts.job = plan.job.id;
    parts.stream = stream == OutputStream::out ? "out" : "err";
    return expand_file_pattern(pattern, parts);
  };
  return settings;
}

}  // namespace scela
