#include "hca/engine/daemon/running_engines.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>

#include "common/core/text.h"
#include "hca/engine/daemon/engine_status.h"

namespace scela::hca {

namespace {

constexpr std::string_view kProgram = "scela-hca";

std::vector<std::string> entries_of(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  std::vector<std::string> names;
  while (open) {
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    names.emplace_back(entry->d_name);
  }
  return names;
}

// Returns the inode numbers of the sockets that a process holds.
std::vector<ino_t> sockets_of(pid_t pid) {
  std::vector<ino_t> found;
  const std::string folder = cat("/proc/", pid, "/fd");
  for (const std::string& name : entries_of(folder)) {
    char target[64] = {};
    if (::readlink(cat(folder, "/", name).c_str(), target, sizeof target - 1) < 0) continue;
    constexpr std::string_view kSocket = "socket:[";
    const std::string_view text = target;
    if (text.starts_with(kSocket))
      found.push_back(std::strtoull(target + kSocket.size(), nullptr, 10));
  }
  return found;
}

std::vector<pid_t> engine_processes() {
  std::vector<pid_t> found;
  for (const std::string& name : entries_of("/proc")) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) continue;
    struct stat facts {};
    if (::stat(cat("/proc/", name).c_str(), &facts) != 0 || facts.st_uid != ::geteuid()) continue;
    if (program_of(pid) == kProgram) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::vector<ListeningSocket> listening_sockets(const std::string& table) {
  constexpr unsigned long kListens = 0x10000;  // __SO_ACCEPTCON
  constexpr unsigned long kPackets = 5;        // SOCK_SEQPACKET
  std::vector<ListeningSocket> found;
  std::istringstream lines(table);
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line)) {
    // The columns are Num RefCount Protocol Flags Type St Inode Path. The first six are
    // hexadecimal.
    std::istringstream words(line);
    std::string number, references, protocol, flags, type, state;
    ListeningSocket socket;
    if (!(words >> number >> references >> protocol >> flags >> type >> state >> socket.inode))
      continue;
    words.get();  // one space; the path may hold more
    std::getline(words, socket.path);
    if (!socket.path.starts_with('/') ||
        (std::strtoul(flags.c_str(), nullptr, 16) & kListens) == 0 ||
        std::strtoul(type.c_str(), nullptr, 16) != kPackets) {
      continue;
    }
    found.push_back(std::move(socket));
  }
  return found;
}

std::vector<RunningEngine> running_engines() {
  std::vector<RunningEngine> found;
  const std::vector<pid_t> processes = engine_processes();
  if (processes.empty()) return found;
  std::ifstream file("/proc/net/unix", std::ios::binary);
  const auto listening = listening_sockets({std::istreambuf_iterator<char>(file), {}});
  for (const pid_t pid : processes) {
    for (const ino_t inode : sockets_of(pid)) {
      const auto at = std::ranges::find(listening, inode, &ListeningSocket::inode);
      if (at != listening.end()) found.push_back({pid, at->path});
    }
  }
  return found;
}

}  // namespace scela::hca
