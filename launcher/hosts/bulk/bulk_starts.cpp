#include "launcher/hosts/bulk/bulk_starts.h"

#include <map>
#include <utility>

#include "common/core/text.h"
#include "launcher/core/detect/bulk_output.h"

namespace scela {

Result<const BulkStart*> BulkStarts::start(const std::vector<std::string>& hosts) {
  BulkRequest request;
  {
    const std::lock_guard lock(mutex_);
    request = request_;
  }
  request.hosts = hosts;
  auto made = BulkStart::start(request);
  if (!made) return fail(std::move(made.error()));
  const std::lock_guard lock(mutex_);
  request_.secret = (*made)->secret();
  return starts_.emplace_back(std::move(*made)).get();
}

std::vector<HostLookup> BulkStarts::find_later(const std::vector<std::string>& hosts) {
  std::vector<HostLookup> out;
  const auto made = start(hosts);
  if (!made) {
    for (const std::string& host : hosts)
      out.push_back({host, {}, made.error().text()});
    return out;
  }
  std::map<std::string, std::string> reasons;
  for (const MissingHost& host : (*made)->missing())
    reasons[host.host] = cat(host.host, ": ", host.phase, ": ", host.why);
  // The contacts are those of the hosts that are not missing, in the same order.
  auto contact = (*made)->contacts().begin();
  for (const std::string& host : hosts) {
    const auto missing = reasons.find(host);
    if (missing == reasons.end())
      out.push_back({host, *contact++, {}});
    else
      out.push_back({host, {}, missing->second});
  }
  return out;
}

std::vector<pid_t> BulkStarts::pids() const {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> out;
  for (const auto& start : starts_)
    out.push_back(start->pid());
  return out;
}

std::vector<std::string> BulkStarts::output() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& start : starts_) {
    for (const std::string& line : start->output())
      out.push_back(named_line(request_.starter.command, line));
  }
  return out;
}

}  // namespace scela
