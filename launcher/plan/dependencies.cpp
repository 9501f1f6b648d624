#include "launcher/plan/dependencies.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "launcher/core/program/elf.h"

namespace scela {

namespace {

constexpr char kCache[] = "/etc/ld.so.cache";
// The limit suffices for machines with tens of thousands of libraries.
constexpr std::size_t kLargestCache = std::size_t{16} * 1024 * 1024;
constexpr std::string_view kUsualDirectories = "/lib64:/usr/lib64:/lib:/usr/lib";
// The largest programs load some hundreds of libraries.
constexpr std::size_t kMaxLibraries = 4096;

// Static programs up to this size are read for names. A larger one would delay the start.
constexpr std::uint64_t kLargestStatic = std::uint64_t{256} << 20;
constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;

// A regular file that is open for reading.
class Source {
 public:
  explicit Source(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat facts {};
    if (!file_ || ::fstat(file_.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
      file_.reset();
    } else {
      size_ = static_cast<std::uint64_t>(facts.st_size);
    }
  }

  explicit operator bool() const { return file_.valid(); }
  std::uint64_t size() const { return size_; }

  std::string read(std::uint64_t offset, std::size_t size) const {
    std::string bytes;
    if (offset >= size_) return bytes;
    bytes.resize(std::min<std::uint64_t>(size, size_ - offset));
    const ssize_t got = retry([&] {
      return ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }

 private:
  Fd file_;
  std::uint64_t size_ = 0;
};

std::optional<Linkage> linkage_of_file(const std::string& path) {
  const Source source(path);
  if (!source) return std::nullopt;
  return linkage_of(
      [&](std::uint64_t offset, std::size_t size) { return source.read(offset, size); });
}

// A file that needs libraries, with the run path in which the loader looks for them.
struct Asker {
  Linkage linkage;
  std::string directory;  // the directory that contains it
};

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

class Loader {
 public:
  explicit Loader(std::string_view directories) : directories_(directories) {}

  std::optional<Asker> find(const std::string& name, const Asker& asker) {
    if (name.find('/') != std::string::npos) return open(name);
    for (const std::string_view list :
         {directories_, std::string_view(asker.linkage.directories)}) {
      if (auto found = find_in(list, name, asker.directory)) return found;
    }
    for (const std::string& path : paths_in_loader_cache(cache(), name)) {
      if (auto found = open(path)) return found;
    }
    return find_in(kUsualDirectories, name, asker.directory);
  }

 private:
  static std::optional<Asker> open(const std::string& path) {
    auto linkage = linkage_of_file(path);
    if (!linkage) return std::nullopt;
    return Asker{std::move(*linkage), directory_of(path)};
  }

  static std::optional<Asker> find_in(std::string_view list, const std::string& name,
                                      const std::string& origin) {
    while (!list.empty()) {
      std::string directory(list.substr(0, list.find(':')));
      list.remove_prefix(std::min(directory.size() + 1, list.size()));
      for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"}) {
        const std::size_t at = directory.find(word);
        if (at != std::string::npos) directory.replace(at, word.size(), origin);
      }
      if (!directory.starts_with('/')) continue;
      if (auto found = open(cat(directory, "/", name))) return found;
    }
    return std::nullopt;
  }

  const std::string& cache() {
    if (!cache_) {
      const Source source(kCache);
      cache_ = source && source.size() <= kLargestCache ? source.read(0, source.size()) : "";
    }
    return *cache_;
  }

  std::string_view directories_;
  std::optional<std::string> cache_;
};

// True for libc, the dynamic loader and their parts. These libraries contain all functions of libc,
// so their strings say nothing about the program.
bool is_of_libc(std::string_view name) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"libc.so", "ld-linux", "ld64.so", "libdl.so",
                                              "libpthread.so"},
      [&](std::string_view stem) { return name.starts_with(stem); });
}

// Visits the libraries breadth first. `see` gets each name that is needed. `loaded` gets the
// program and then each library that was found. Returns false if one of them returned false.
bool walk(const std::string& program, Linkage linkage, std::string_view directories,
          const std::function<bool(const std::string& name)>& see,
          const std::function<bool(const std::string& name, const Linkage&)>& loaded) {
  Loader loader(directories);
  std::set<std::string> seen;
  std::deque<Asker> askers;
  if (!loaded(program, linkage)) return false;
  askers.push_back({std::move(linkage), directory_of(program)});
  while (!askers.empty()) {
    const Asker asker = std::move(askers.front());
    askers.pop_front();
    std::vector<std::string> fresh;
    for (const std::string& name : asker.linkage.libraries) {
      if (seen.size() >= kMaxLibraries) return true;
      if (!seen.insert(name).second) continue;
      if (!see(name)) return false;
      fresh.push_back(name);
    }
    for (const std::string& name : fresh) {
      auto found = loader.find(name, asker);
      if (!found) continue;
      if (!loaded(name, found->linkage)) return false;
      askers.push_back(std::move(*found));
    }
  }
  return true;
}

}  // namespace

bool for_each_library(const std::string& program, std::string_view directories,
                      const std::function<bool(const std::string& name)>& see) {
  auto linkage = linkage_of_file(program);
  if (!linkage) return false;
  walk(program, std::move(*linkage), directories, see,
       [](const std::string&, const Linkage&) { return true; });
  return true;
}

bool cannot_start_programs(const std::string& program, std::string_view directories) {
  auto linkage = linkage_of_file(program);
  if (!linkage) return false;
  return walk(
      program, std::move(*linkage), directories, [](const std::string&) { return true; },
      [](const std::string& name, const Linkage& one) {
        return !one.may_load_or_start || is_of_libc(name);
      });
}

PmiGuess need_of_static(const std::string& program) {
  const auto linkage = linkage_of_file(program);
  const Source source(program);
  if (!linkage || !linkage->libraries.empty() || source.size() > kLargestStatic) return {};
  PmiNames names;
  for (std::uint64_t at = 0; at < source.size(); at += kReadAtOnce) {
    const std::string bytes = source.read(at, kReadAtOnce);
    if (bytes.empty()) return {};
    names.see(bytes);
  }
  return names.guess();
}

}  // namespace scela
