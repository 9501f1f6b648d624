// Host lists, host files and the allocations of schedulers: any text gives hosts or a usage error,
// and what was read obeys the limits. For allocations the text is an environment, one variable a
// line, then an empty line, then the text of every file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "launcher/core/detect/detect.h"
#include "launcher/core/detect/host_lists.h"
#include "launcher/core/detect/launch_choice.h"
#include "launcher/core/hosts/hostfile.h"

namespace {

// Returns true if the text has more than two ranges, or an end of more than two digits. Larger sets
// only repeat what small ones do, and take seconds, so they are left out.
bool is_large(std::string_view text) {
  int ranges = 0, digits = 0;
  bool is_end = false;
  for (const char letter : text) {
    ranges += letter == '[' ? 1 : 0;
    if (letter == '-') {
      is_end = true;
      digits = 0;
    } else if (letter < '0' || letter > '9') {
      is_end = false;
    } else if (is_end && ++digits > 2) {
      return true;
    }
  }
  return ranges > 2;
}

void check(const scela::Result<std::vector<scela::HostEntry>>& hosts) {
  if (!hosts) {
    if (hosts.error().kind != scela::ErrorKind::usage || hosts.error().text().empty()) std::abort();
    return;
  }
  if (hosts->empty()) std::abort();
  std::set<std::string_view> names;
  for (const scela::HostEntry& host : *hosts) {
    if (host.name.empty() || !names.insert(host.name).second) std::abort();
    const scela::LoginParts parts = scela::parts_of_login(host.name);
    if (parts.host.empty() || (parts.port && *parts.port == 0)) std::abort();
    if (host.slots && (*host.slots == 0 || *host.slots > scela::kMaxSlots)) std::abort();
  }
}

void check(const scela::Allocation& allocation) {
  if (allocation.hosts.empty() || allocation.source.empty()) std::abort();
  if (scela::allocation_text(allocation).empty()) std::abort();
  std::set<std::string_view> names;
  for (const scela::AllocatedHost& host : allocation.hosts) {
    if (host.name.empty() || !names.insert(host.name).second) std::abort();
    if (host.name.find_first_of(" \t\n;$'\"") != std::string::npos) std::abort();
    if (host.slots && (*host.slots == 0 || *host.slots > scela::kMaxOfHost)) std::abort();
    if (host.cpus && *host.cpus == 0) std::abort();
  }
}

void check_allocation(std::string_view text) {
  const std::size_t end = std::min(text.find("\n\n"), text.size());
  const std::string file(text.substr(std::min(end + 2, text.size())));
  std::vector<std::string> environment;
  for (std::string_view rest = text.substr(0, end); !rest.empty();) {
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    environment.emplace_back(rest.substr(0, line));
    rest.remove_prefix(std::min(line + 1, rest.size()));
  }
  const scela::Sources read = {
      [&](const std::string&) { return scela::Result<std::string>(file); },
      [&](const std::vector<std::string>&) { return scela::Result<std::string>(file); }};
  auto found = scela::detect({environment, "node1", std::nullopt}, read);
  if (!found) {
    const scela::Error& error = found.error();
    if (error.kind != scela::ErrorKind::usage || error.what.empty() || error.why.empty())
      std::abort();
    return;
  }
  if (found->allocation) check(*found->allocation);
  if (!scela::choose_launch({}, std::move(*found), scela::Environment(environment))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (is_large(text)) return 0;
  check(scela::parse_hosts(text));
  check(scela::parse_hostfile(text, "hosts.txt"));
  // Lists that files and standard input name are lists again.
  const auto read = [&](const std::string&) {
    return scela::Result<std::string>(std::string(text));
  };
  for (const char* spec : {"a,^f", "-"}) {
    const auto named = scela::with_sources(spec, read);
    if (named) check(scela::parse_hosts(*named));
    if (named && !scela::parse_hosts(*named)) std::abort();
  }
  check_allocation(text);
  check(scela::exclude_hosts({{"a", 1}, {"node1", std::nullopt}}, text));
  return 0;
}
