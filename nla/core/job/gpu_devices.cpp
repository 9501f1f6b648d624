#include "nla/core/job/gpu_devices.h"

#include <vector>

#include "common/core/counted.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

// Returns the devices of a list. As in CUDA, an entry that names no device ends the list.
std::vector<std::string> devices_in(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (one.starts_with(' '))
      one.remove_prefix(1);
    while (one.ends_with(' '))
      one.remove_suffix(1);
    if (one.empty() || one.front() == '-' || one == "NoDevFiles" || one == "none" || one == "void")
      break;
    out.emplace_back(one);
  }
  return out;
}

// Returns the kind that is shared out, as gpus_of_rank() says.
GpuKind chosen_kind(const GpuFacts& facts) {
  for (const GpuKind kind : kGpuKinds)
    if (facts.kinds[static_cast<std::size_t>(kind)].found > 0) return kind;
  for (const GpuKind kind : kGpuKinds)
    if (facts.kinds[static_cast<std::size_t>(kind)].list) return kind;
  return GpuKind::cuda;
}

}  // namespace

std::string_view gpu_variable(GpuKind kind) {
  switch (kind) {
    case GpuKind::cuda:
      return "CUDA_VISIBLE_DEVICES";
    case GpuKind::rocr:
      return "ROCR_VISIBLE_DEVICES";
    case GpuKind::ze:
      return "ZE_AFFINITY_MASK";
  }
  return "";
}

Result<std::string> gpus_of_rank(const GpuFacts& facts, GpuShare share, std::uint64_t local_rank,
                                 std::uint32_t each) {
  const GpuKind kind = chosen_kind(facts);
  const GpuFacts::OfKind& known = facts.kinds[static_cast<std::size_t>(kind)];
  std::vector<std::string> devices;
  if (known.list) {
    devices = devices_in(*known.list);
  } else {
    for (std::uint32_t i = 0; i < known.found; ++i)
      devices.push_back(cat(i));
  }
  const std::size_t own = devices.size() / share.shares;
  const std::size_t begin = own * (share.index % share.shares);
  if (local_rank >= own / each) {
    const std::string from =
        known.list ? cat(" (", gpu_variable(kind), "=", *known.list, ")") : std::string();
    const std::string of =
        share.shares > 1 ? cat("its share of the ", devices.size(), " of the machine") : "";
    return fail(Error{ErrorKind::usage, cat("give each rank ", counted(each, "GPU")), "",
                      cat("rank ", local_rank, " of the node would need ",
                          counted((local_rank + 1) * each, "GPU"), ", the node has ", own,
                          of.empty() ? "" : cat(", ", of), from),
                      "start fewer ranks on each node (--ppn), or lower --gpus-per-rank"});
  }
  std::string value;
  for (std::size_t i = 0; i < each; ++i)
    value += cat(i == 0 ? "" : ",", devices[begin + local_rank * each + i]);
  return cat(gpu_variable(kind), "=", value);
}

}  // namespace scela::nla
