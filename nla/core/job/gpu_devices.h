// Computes which GPUs of its node a rank gets (--gpus-per-rank). nla/io/gpu_probe.h finds out
// what a node has. All functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/result.h"

namespace scela::nla {

// The kinds of GPUs, by the variable that says which of them a program sees.
enum class GpuKind : std::uint8_t {
  cuda,  // NVIDIA: CUDA_VISIBLE_DEVICES
  rocr,  // AMD: ROCR_VISIBLE_DEVICES
  ze,    // Intel: ZE_AFFINITY_MASK
};
inline constexpr std::array<GpuKind, 3> kGpuKinds = {GpuKind::cuda, GpuKind::rocr, GpuKind::ze};
// Returns the name of the kind's variable.
std::string_view gpu_variable(GpuKind kind);

// The GPUs of a node, by GpuKind.
struct GpuFacts {
  struct OfKind {
    // The value of the kind's variable on the node, if it is set. Its devices are shared out, so
    // that what a scheduler has given to the job is subdivided and never replaced.
    std::optional<std::string> list;
    std::uint32_t found = 0;  // devices that the machine has
  };
  std::array<OfKind, kGpuKinds.size()> kinds;
};

// The share of a machine that a node has, if simulated nodes share one: part `index` of `shares`
// equal parts, counted from 0. What does not divide evenly is left unused.
struct GpuShare {
  std::uint32_t index = 0;
  std::uint32_t shares = 1;
};

// Returns the variable ("CUDA_VISIBLE_DEVICES=2,3") of the rank with this number on its node: the
// devices local_rank * each to local_rank * each + each - 1 of the node. `each` is at least 1. The
// kind is the first one of which the machine has devices, else the first one that has a list: a
// variable of another kind would hide devices on some systems. Error (usage): the node has fewer
// devices; the text has their number and where it is from.
Result<std::string> gpus_of_rank(const GpuFacts& facts, GpuShare share, std::uint64_t local_rank,
                                 std::uint32_t each);

}  // namespace scela::nla
