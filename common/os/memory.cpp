#include "common/os/memory.h"

#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

// Returns the value of a line such as "Name:   123 kB", in bytes.
std::uint64_t field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(cat("\n", name, ":"));
  if (at == std::string_view::npos) return 0;
  const std::size_t digits = text.find_first_of("0123456789", at + name.size() + 2);
  if (digits == std::string_view::npos) return 0;
  std::uint64_t kilobytes = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), kilobytes);
  return kilobytes * 1024;
}

}  // namespace

MemoryUse memory_use(pid_t pid) {
  const std::string process = pid == 0 ? "self" : cat(pid);
  const std::string text = read_small_file(cat("/proc/", process, "/smaps_rollup").c_str());
  if (text.empty() && pid == 0) return quick_memory_use();
  return {field(text, "Private_Clean") + field(text, "Private_Dirty"), field(text, "Pss"),
          field(text, "Rss")};
}

MemoryUse quick_memory_use() {
  const std::string text = read_small_file("/proc/self/status");
  return {field(text, "RssAnon"), 0, field(text, "VmRSS")};
}

}  // namespace scela
