#include "launcher/core/detect/flux_resources.h"

#include <nlohmann/json.hpp>
#include <string>

namespace scela {

namespace {

using Json = nlohmann::json;

// Returns the member of an object, or a null value.
Json member(const Json& object, const char* name) {
  const auto at = object.is_object() ? object.find(name) : object.end();
  return at == object.end() ? Json() : *at;
}

// Reads an idset (RFC 22): "0-3,8", also in brackets. Flux writes a single number without quotes in
// some versions.
std::optional<RankSet> idset(const Json& value) {
  std::string text;
  if (value.is_number_unsigned()) text = std::to_string(value.get<std::uint64_t>());
  if (value.is_string()) text = value.get<std::string>();
  std::string_view inner = text;
  if (inner.starts_with('[') && inner.ends_with(']')) inner = inner.substr(1, inner.size() - 2);
  auto set = RankSet::parse(inner);
  if (!set || set->empty()) return std::nullopt;
  return std::move(*set);
}

}  // namespace

std::optional<std::vector<FluxCores>> parse_flux_resources(std::string_view text) {
  const Json set = Json::parse(text, nullptr, false);
  if (member(set, "version") != Json(1)) return std::nullopt;
  const Json lists = member(member(set, "execution"), "R_lite");
  if (!lists.is_array() || lists.empty()) return std::nullopt;
  std::vector<FluxCores> out;
  for (const Json& list : lists) {
    auto brokers = idset(member(list, "rank"));
    auto cores = idset(member(member(list, "children"), "core"));
    if (!brokers || !cores) return std::nullopt;
    out.push_back({std::move(*brokers), std::move(*cores)});
  }
  return out;
}

RankSet cores_of(const std::vector<FluxCores>& set, std::uint32_t broker) {
  RankSet out;
  for (const FluxCores& one : set) {
    if (one.brokers.contains(broker)) out.add(one.cores);
  }
  return out;
}

}  // namespace scela
