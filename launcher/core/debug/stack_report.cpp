#include "launcher/core/debug/stack_report.h"

#include <algorithm>
#include <string_view>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

// The most bytes of one line. A function of C++ can have a name of thousands.
constexpr std::size_t kMaxLine = 400;

std::string heading(const RankSet& ranks) {
  return cat(ranks.size() == 1 ? "rank " : "ranks ", ranks.text());
}

}  // namespace

std::string stack_report(std::vector<SameStacks> groups, const RankSet& silent) {
  std::ranges::stable_sort(groups, [](const SameStacks& a, const SameStacks& b) {
    return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size()
                                            : a.ranks.front() < b.ranks.front();
  });
  std::uint64_t ranks = silent.size();
  for (const SameStacks& group : groups)
    ranks += group.ranks.size();
  if (ranks == 0) return cat(kProgramName, "no rank runs, so there are no stacks\n");
  std::string out = cat(kProgramName, "the stacks of ", counted(ranks, "rank"), ":\n");
  for (const SameStacks& group : groups) {
    out += cat(heading(group.ranks), ":\n");
    std::string_view rest = group.text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      out += cat("  ", printable(line, kMaxLine), "\n");
    }
  }
  if (!silent.empty()) out += cat(heading(silent), ":\n  no stack: the node has not answered\n");
  return out;
}

}  // namespace scela
