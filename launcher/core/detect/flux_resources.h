// Reads the resource set of an instance of Flux (RFC 20, version 1): which cores each broker has.
// flux_reader.cpp uses it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"

namespace scela {

// Brokers that have the same cores, as numbers.
struct FluxCores {
  RankSet brokers;
  RankSet cores;
};

// Returns the cores of all brokers, or std::nullopt if the text is no such set.
std::optional<std::vector<FluxCores>> parse_flux_resources(std::string_view text);
// Returns the cores of one broker; empty if the set does not name it.
RankSet cores_of(const std::vector<FluxCores>& set, std::uint32_t broker);

}  // namespace scela
