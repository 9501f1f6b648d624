#include "launcher/core/report/live_text.h"

#include <algorithm>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

// A terminal narrower than this gets lines that it breaks.
constexpr std::size_t kLeastColumns = 20;
constexpr std::size_t kLeastRows = 3;

}  // namespace

std::string live_text(std::vector<LiveGroup> groups, std::uint64_t all, std::string_view noun,
                      const LiveRoom& room) {
  // printable() appends "..." to a text that it cuts.
  const std::size_t most = std::max(kLeastColumns, room.columns) - 4;
  std::ranges::stable_sort(groups, std::ranges::greater(), &LiveGroup::count);
  std::uint64_t ended = 0;
  for (const LiveGroup& group : groups)
    ended += group.count;
  std::string text =
      printable(cat(kProgramName, ended, " of ", counted(std::max(all, ended), noun), " done"),
                most) +
      '\n';
  const std::size_t lines = std::max(kLeastRows, room.rows / 2) - 1;
  const std::size_t shown = groups.size() <= lines ? groups.size() : lines - 1;
  for (std::size_t i = 0; i < shown; ++i)
    text += printable(cat("  ", groups[i].members, ": ", groups[i].first_line), most) + '\n';
  if (shown < groups.size())
    text += printable(cat("  ", counted(groups.size() - shown, "other output")), most) + '\n';
  return text;
}

}  // namespace scela
