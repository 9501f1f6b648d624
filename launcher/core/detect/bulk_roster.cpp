#include "launcher/core/detect/bulk_roster.h"

#include <algorithm>
#include <utility>

#include "launcher/core/detect/detect.h"

namespace scela {

std::optional<std::size_t> host_called(std::span<const std::string> hosts, std::string_view name) {
  const auto equal = std::ranges::find(hosts, name);
  if (equal != hosts.end()) return static_cast<std::size_t>(equal - hosts.begin());
  std::optional<std::size_t> similar;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!is_same_machine(hosts[i], name)) continue;
    if (similar) return std::nullopt;
    similar = i;
  }
  return similar;
}

BulkRoster::BulkRoster(std::vector<std::string> hosts, std::string build, Time limit, Time now)
    : hosts_(std::move(hosts)),
      build_(std::move(build)),
      limit_(limit),
      deadline_(now + limit),
      has_agent_(hosts_.size(), false),
      missing_(hosts_.size()) {}

std::optional<std::size_t> BulkRoster::admit(std::string_view name, std::string_view build,
                                             Time now) {
  if (build != build_) return std::nullopt;
  const auto at = host_called(hosts_, name);
  if (!at || has_agent_[*at]) return std::nullopt;
  has_agent_[*at] = true;
  --missing_;
  deadline_ = now + limit_;
  return at;
}

BulkRoster::Time BulkRoster::left(Time now) const {
  return missing_ == 0 ? Time(0) : std::max(Time(0), deadline_ - now);
}

}  // namespace scela
