#include "nla/pack/agent_cache.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "nla/core/tree/remote_shell.h"
#include "nla/pack/agent_package.h"

namespace scela::nla {

namespace {

namespace fs = std::filesystem;

// Directories that are being filled begin with this.
constexpr std::string_view kUnfinished = ".new-";
// After so long a process that fills a directory is taken for ended.
constexpr std::chrono::hours kAbandonedAfter{1};

// Copies the whole file behind the descriptor `from` to a new file. Returns false if that fails.
bool copy_to(const std::string& path, int from, mode_t mode) {
  const Fd to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  struct stat facts {};
  if (!to || ::fstat(from, &facts) != 0) return false;
  off_t at = 0;
  while (at < facts.st_size) {
    const auto left = static_cast<std::size_t>(facts.st_size - at);
    const ssize_t sent = retry([&] { return ::sendfile(to.get(), from, &at, left); });
    if (sent <= 0) return false;
  }
  return ::fchmod(to.get(), mode) == 0;
}

// Returns true if the name is that of a kept agent: a digest in hexadecimal.
bool is_agent(const std::string& name) {
  return name.size() >= 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Removes the agents that were used least recently, until kCachedAgents are left.
void remove_old(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    if (is_agent(at->path().filename().string()))
      found.emplace_back(at->last_write_time(ignored), at->path());
  }
  if (found.size() <= kCachedAgents) return;
  std::ranges::sort(found, std::greater());
  for (std::size_t i = kCachedAgents; i < found.size(); ++i)
    static_cast<void>(remove_tree(found[i].second.string()));
}

}  // namespace

void store_agent(const std::string& directory, int package) {
  if (::access(cat(directory, "/scela-nla").c_str(), F_OK) == 0) return;
  const fs::path folder = fs::path(directory).parent_path();
  const std::string unfinished = (folder / cat(kUnfinished, ::getpid(), "-XXXXXX")).string();
  std::vector<char> room(unfinished.c_str(), unfinished.c_str() + unfinished.size() + 1);
  if (::mkdtemp(room.data()) == nullptr) return;
  const std::string made = room.data();
  constexpr mode_t kProgram = 0500, kData = 0400;
  const Fd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const bool whole = self && copy_to(cat(made, "/scela-nla"), self.get(), kProgram) &&
                     copy_to(cat(made, "/", kPackageName), package, kData);
  static_cast<void>(remove_tree(directory));  // what is left of an agent that was removed
  // Fails if another process has stored the agent meanwhile: the directory is not empty.
  if (!whole || ::rename(made.c_str(), directory.c_str()) != 0)
    static_cast<void>(remove_tree(made));
  remove_old(folder);
  for (const std::string_view name : {kUnfinished, kShippedName})
    remove_abandoned(folder.string(), name, "", kAbandonedAfter);
}

void note_agent_use(const std::string& directory) {
  ::utimensat(AT_FDCWD, directory.c_str(), nullptr, 0);
}

}  // namespace scela::nla
