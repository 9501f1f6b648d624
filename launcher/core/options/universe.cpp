#include "launcher/core/options/universe.h"

#include <algorithm>

#include "launcher/core/values/text_values.h"

namespace scela {

Result<UniverseSize> parse_universe(std::string_view text) {
  using Which = UniverseSize::Kind;
  if (text == "system" || text == "SYSTEM") return UniverseSize{Which::system, 0};
  if (text == "infinite" || text == "INFINITE") return UniverseSize{Which::infinite, 0};
  const auto number = parse_number(text, 1, kMaxRanks);
  if (number) return UniverseSize{Which::number, *number};
  Error error = number.error();
  error.hint += ", system or infinite";
  return fail(std::move(error));
}

std::uint32_t slots_of(const Options& options, const std::vector<MapNode>& nodes) {
  const bool stated =
      std::ranges::any_of(nodes, [](const MapNode& node) { return node.slots.has_value(); });
  std::uint64_t by_ppn = 0;
  for (const App& app : options.apps)
    by_ppn += app.ppn.value_or(0);
  std::uint64_t slots = 0;
  for (const MapNode& node : nodes)
    slots += stated ? node.slots.value_or(1) : std::max<std::uint64_t>(by_ppn, 1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, kMaxRanks));
}

std::int32_t universe_size(const Options& options, std::uint32_t slots) {
  const UniverseSize wanted = options.usize.value_or(UniverseSize{});
  switch (wanted.kind) {
    case UniverseSize::Kind::infinite:
      return -1;
    case UniverseSize::Kind::number:
      return static_cast<std::int32_t>(wanted.number);
    case UniverseSize::Kind::system:
      break;
  }
  return static_cast<std::int32_t>(slots);
}

}  // namespace scela
