// Fuzzes topologies that an agent tells of: each topology that is read is written as it was, and
// ranks can be placed on it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/core/placement/placement.h"

using namespace scela;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto topology = Topology::parse(bytes);
  if (!topology) return 0;
  if (topology->bytes() != bytes) std::abort();
  PlacementPolicy placement;
  placement.map_by = MapBy::numa;
  placement.bind_to = BindTo::l3;
  auto placer = Placer::create(topology->share(1, 3), placement);
  if (!placer) return 0;
  const auto places = placer->next(1, true);
  if (places && binding_text(0, placer->topology(), places->front()).empty()) std::abort();
  return 0;
}
