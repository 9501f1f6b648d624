#include "nla/pack/agent_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "nla/core/tree/remote_shell.h"

namespace scela::nla {

namespace {

// After so long a file that a start fills is taken for left.
constexpr std::chrono::hours kAbandonedAfter{1};

// Returns true if the name is that of a kept package.
bool is_package(std::string_view name) {
  constexpr std::size_t kDigits = 64;
  return name.size() == kKeptName.size() + kDigits && name.starts_with(kKeptName) &&
         name.find_first_not_of("0123456789abcdef", kKeptName.size()) == name.npos;
}

}  // namespace

void note_package_use(const std::string& file) {
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
}

void remove_old_packages(const std::string& file) {
  const std::string folder = file.substr(0, file.rfind('/'));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), ::closedir);
  if (!listing) return;
  std::vector<std::tuple<std::time_t, long, std::string>> found;  // seconds, nanoseconds, name
  while (const dirent* entry = ::readdir(listing.get())) {
    struct stat facts {};
    if (is_package(entry->d_name) &&
        ::fstatat(::dirfd(listing.get()), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0)
      found.emplace_back(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, entry->d_name);
  }
  std::ranges::sort(found, std::greater());
  for (std::size_t i = kCachedPackages; i < found.size(); ++i)
    ::unlinkat(::dirfd(listing.get()), std::get<std::string>(found[i]).c_str(), 0);
  remove_abandoned(folder, kShippedName, "", kAbandonedAfter);
}

}  // namespace scela::nla
