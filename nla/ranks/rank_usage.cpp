#include "nla/ranks/rank_usage.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "common/core/text.h"

namespace scela::nla {

namespace {

constexpr std::string_view kWord = "usage";

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

RankUsage usage_of(Rank rank, std::uint64_t run_ns, const rusage& used) {
  return {rank, run_ns / 1000, microseconds(used.ru_utime), microseconds(used.ru_stime),
          static_cast<std::uint64_t>(used.ru_maxrss)};
}

std::string usage_line(const RankUsage& usage) {
  return cat(kWord, ' ', usage.rank, ' ', usage.run_us, ' ', usage.user_us, ' ', usage.system_us,
             ' ', usage.max_rss_kib, '\n');
}

std::optional<RankUsage> parse_usage(std::string_view line) {
  if (!line.starts_with(kWord)) return std::nullopt;
  line.remove_prefix(kWord.size());
  std::uint64_t numbers[5] = {};
  for (std::uint64_t& number : numbers) {
    if (!line.starts_with(' ')) return std::nullopt;
    line.remove_prefix(1);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc()) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  }
  if (!line.empty() || numbers[0] > std::numeric_limits<Rank>::max()) return std::nullopt;
  return RankUsage{static_cast<Rank>(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4]};
}

}  // namespace scela::nla
