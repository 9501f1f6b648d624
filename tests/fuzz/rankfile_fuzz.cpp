// Rankfiles: whatever is read maps onto its own hosts, or is refused with a reason.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launcher/core/map/rankfile.h"

using namespace scela;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto places = parse_rankfile({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!places) {
    if (places.error().why.empty()) std::abort();
    return 0;
  }
  const auto hosts = hosts_of(*places);
  if (!hosts) return 0;  // a word that cannot be a host's name
  std::vector<MapNode> nodes;
  for (const HostEntry& host : *hosts)
    nodes.push_back({host.name, host.slots});
  const auto mapping = map_by_rankfile(*places, nodes, {std::nullopt});
  if (mapping && mapping->map.size() != places->size()) std::abort();
  return 0;
}
