// Programs' files: any bytes are read within bounds, and names come from within the file.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "launcher/core/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto names = scela::needed_libraries([&](std::uint64_t offset, std::size_t length) {
    return offset < file.size() ? std::string(file.substr(offset, length)) : std::string();
  });
  if (!names) return 0;
  for (const std::string& name : *names) {
    if (file.find(name) == std::string_view::npos) std::abort();
  }
  return 0;
}
