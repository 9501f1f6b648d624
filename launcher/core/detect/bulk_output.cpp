#include "launcher/core/detect/bulk_output.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela {
namespace {

// srun prints this for --cpu-bind=none if it would bind no task anyway.
constexpr std::string_view kNoBinding = "cluster configuration lacks support for cpu binding";

// Returns true for "[0-1]: Exit 69" and "2: Exit 127" of flux exec.
bool is_status_of_flux(std::string_view line) {
  const std::size_t colon = line.find(": Exit ");
  return colon != std::string_view::npos &&
         line.substr(0, colon).find_first_not_of("[]0123456789,-") == std::string_view::npos;
}

bool is_status(std::string_view line) {
  return line.find("Exited with exit code") != std::string_view::npos || is_status_of_flux(line);
}

}  // namespace

std::vector<std::string> bulk_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && !line.ends_with(kNoBinding)) lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.size() > kMaxBulkLines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMaxBulkLines));
  return lines;
}

std::string telling_line(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  const auto last = std::find_if_not(lines.rbegin(), lines.rend(), is_status);
  return last == lines.rend() ? lines.back() : *last;
}

std::string bulk_advice(std::string_view why) {
  // srun says so if only the variables of a job are left.
  if (why.find("has expired") != std::string_view::npos)
    return "the job has ended: remove its variables (unset SLURM_JOB_ID SLURM_JOB_NODELIST)";
  return "give --launch ssh to start the agents over ssh";
}

std::string named_line(std::string_view command, std::string_view line) {
  std::string program(command);
  std::ranges::replace(program, ' ', '-');
  const bool has_name =
      line.starts_with(cat(program, ": ")) || line.starts_with(cat(command, ": "));
  return has_name ? std::string(line) : cat(command, ": ", line);
}

}  // namespace scela
