#include "nla/io/gpu_probe.h"

#include <dirent.h>

#include <algorithm>
#include <memory>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

// Counts the entries of a directory that begin with `prefix`, go on with digits only, and fulfil
// `holds`.
template <class Holds>
std::uint32_t count(const std::string& directory, std::string_view prefix, const Holds& holds) {
  std::uint32_t found = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    const std::string_view number = name.substr(std::min(prefix.size(), name.size()));
    const bool numbered =
        !number.empty() && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (name.starts_with(prefix) && numbered && holds(cat(directory, '/', name))) ++found;
  }
  return found;
}

}  // namespace

GpuFacts gpus_of_machine(const std::function<std::string(std::string_view name)>& value_of,
                         const std::string& root) {
  GpuFacts facts;
  for (const GpuKind kind : kGpuKinds) {
    std::string list = value_of(gpu_variable(kind));
    if (!list.empty()) facts.kinds[static_cast<std::size_t>(kind)].list = std::move(list);
  }
  const auto of = [&](GpuKind kind) -> std::uint32_t& {
    return facts.kinds[static_cast<std::size_t>(kind)].found;
  };
  of(GpuKind::cuda) = count(cat(root, "/dev"), "nvidia", [](const std::string&) { return true; });
  // The processors are nodes of KFD too, with the number 0.
  of(GpuKind::rocr) =
      count(cat(root, "/sys/class/kfd/kfd/topology/nodes"), "", [](const std::string& node) {
        const std::string id = read_small_file(cat(node, "/gpu_id").c_str());
        return !id.empty() && !id.starts_with("0\n") && id != "0";
      });
  of(GpuKind::ze) = count(cat(root, "/sys/class/drm"), "renderD", [](const std::string& node) {
    return read_small_file(cat(node, "/device/vendor").c_str()).starts_with("0x8086");
  });
  return facts;
}

}  // namespace scela::nla
