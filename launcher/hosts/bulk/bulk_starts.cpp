#include "launcher/hosts/bulk/bulk_starts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/core/text.h"
#include "launcher/core/detect/bulk_command.h"
#include "launcher/core/detect/bulk_output.h"

namespace scela {

Result<const BulkStart*> BulkStarts::start_part(const std::vector<std::string>& hosts, int end) {
  BulkRequest request;
  {
    const std::lock_guard lock(mutex_);
    request = request_;
  }
  request.hosts = hosts;
  auto made = BulkStart::start(request, end);
  if (!made) return fail(std::move(made.error()));
  const std::lock_guard lock(mutex_);
  request_.secret = (*made)->secret();
  return starts_.emplace_back(std::move(*made)).get();
}

Result<BulkContacts> BulkStarts::start(const std::vector<std::string>& hosts, int end) {
  BulkContacts out;
  std::map<std::string, std::string> contacts;  // by host
  for (const auto& part : bulk_parts(request_.starter, request_.environment, hosts)) {
    const auto made = start_part(part, end);
    if (!made) return fail(made.error());
    const std::vector<MissingHost>& missing = (*made)->missing();
    // The contacts are those of the hosts that are not missing, in the same order.
    auto contact = (*made)->contacts().begin();
    for (const std::string& host : part) {
      if (std::ranges::find(missing, host, &MissingHost::host) == missing.end())
        contacts[host] = *contact++;
    }
    out.missing.insert(out.missing.end(), missing.begin(), missing.end());
  }
  for (const std::string& host : hosts) {
    if (const auto found = contacts.find(host); found != contacts.end())
      out.contacts.push_back(found->second);
  }
  return out;
}

std::vector<HostLookup> BulkStarts::find_later(const std::vector<std::string>& hosts) {
  std::vector<HostLookup> out;
  const auto made = start(hosts);
  if (!made) {
    for (const std::string& host : hosts)
      out.push_back({host, {}, made.error().text()});
    return out;
  }
  auto contact = made->contacts.begin();
  for (const std::string& host : hosts) {
    const auto missing = std::ranges::find(made->missing, host, &MissingHost::host);
    if (missing == made->missing.end())
      out.push_back({host, *contact++, {}});
    else
      out.push_back({host, {}, cat(host, ": ", missing->phase, ": ", missing->why)});
  }
  return out;
}

std::string BulkStarts::secret() const {
  const std::lock_guard lock(mutex_);
  return request_.secret;
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
