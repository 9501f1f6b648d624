// Programs' files: any bytes are read within bounds, and names come from within the file.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "launcher/core/program/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto linkage = scela::linkage_of([&](std::uint64_t offset, std::size_t length) {
    return offset < file.size() ? std::string(file.substr(offset, length)) : std::string();
  });
  for (const std::string& path : scela::paths_in_loader_cache(file, "libmpi.so.40")) {
    if (file.find(path) == std::string_view::npos) std::abort();
  }
  if (!linkage) return 0;
  for (const std::string& name : linkage->libraries) {
    if (file.find(name) == std::string_view::npos) std::abort();
  }
  if (file.find(linkage->directories) == std::string_view::npos) std::abort();
  return 0;
}
