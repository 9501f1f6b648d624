// Host lists and host files: any text gives hosts or a usage error, and what was read obeys the
// limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "launcher/core/hostfile.h"

namespace {

void check(const scela::Result<std::vector<scela::HostEntry>>& hosts) {
  if (!hosts) {
    if (hosts.error().kind != scela::ErrorKind::usage || hosts.error().text().empty()) std::abort();
    return;
  }
  if (hosts->empty()) std::abort();
  std::set<std::string_view> names;
  for (const scela::HostEntry& host : *hosts) {
    if (host.name.empty() || !names.insert(host.name).second) std::abort();
    if (host.slots && (*host.slots == 0 || *host.slots > scela::kMaxSlots)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(scela::parse_hosts(text));
  check(scela::parse_hostfile(text, "hosts.txt"));
  check(scela::exclude_hosts({{"a", 1}, {"node1", std::nullopt}}, text));
  return 0;
}
