#include "launcher/hosts/ssh_files.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "launcher/hosts/name_lookup.h"

namespace scela {

namespace {

// Returns true if only root or this user can have written the file, so others cannot have put
// commands in it.
bool is_owners_alone(const Fd& file) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return false;
  return (status.st_uid == 0 || status.st_uid == ::geteuid()) && (status.st_mode & 022) == 0;
}

// Waits until bytes or the end of the file can be read. Returns false if it was stopped.
bool await_bytes(const Fd& file, const StopReading& stop) {
  pollfd ready{file.get(), POLLIN, 0};
  const int limit_ms = stop ? static_cast<int>(kStopInterval.count()) : -1;
  while (retry([&] { return ::poll(&ready, 1, limit_ms); }) == 0)
    if (stop()) return false;
  return true;
}

Result<std::optional<std::string>> read_file(const std::string& path, bool check_owner,
                                             const StopReading& stop) {
  const auto refused = [&](std::string why, std::string hint) {
    return fail(
        Error{ErrorKind::usage, cat("read '", path, "'"), "", std::move(why), std::move(hint)});
  };
  // The file may be a FIFO that nothing has opened yet.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::optional<std::string>();
  if (!file) return refused(errno_text(errno), "make it readable for its owner");
  if (check_owner && !is_owners_alone(file)) {
    return refused("others own it or may write to it",
                   cat("ssh refuses it too: chmod go-w '", path, "'"));
  }
  std::string text;
  char piece[16384];
  for (;;) {
    if (!await_bytes(file, stop)) return refused("the wait for its text was given up", "");
    const ssize_t got = retry([&] { return ::read(file.get(), piece, sizeof piece); });
    if (got < 0) return refused(errno_text(errno), "name a file that can be read");
    if (got == 0) return std::optional<std::string>(std::move(text));
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > kLargestSshFile) {
      return refused(cat("it is larger than ", kLargestSshFile >> 20, " MiB"),
                     "name a file of ssh's");
    }
  }
}

// Returns the files that an Include names. Its pattern is relative to `folder` and may have
// wildcards, as in a shell.
Result<std::vector<SshConfig::File>> included(const std::string& pattern, const std::string& home,
                                              const std::string& folder, bool check_owner,
                                              const StopReading& stop) {
  std::string path = pattern;
  if (path.starts_with("~/")) path.replace(0, 1, home);
  if (!path.starts_with('/')) path = cat(folder, "/", path);
  glob_t found = {};
  const std::unique_ptr<glob_t, decltype(&::globfree)> owner(&found, ::globfree);
  std::vector<SshConfig::File> files;
  if (::glob(path.c_str(), 0, nullptr, &found) != 0) return files;  // as ssh does
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    std::string name = found.gl_pathv[i];
    auto text = read_file(name, check_owner, stop);
    if (!text) return fail(std::move(text.error()));
    if (*text) files.push_back({std::move(name), std::move(**text)});
  }
  return files;
}

// Adds a configuration to `out` and returns true if the file exists.
Result<bool> add_config(std::vector<SshConfig>& out, const std::string& path,
                        const std::string& home, const std::string& folder, bool check_owner,
                        const StopReading& stop) {
  auto text = read_file(path, check_owner, stop);
  if (!text) return fail(std::move(text.error()));
  if (!*text) return false;
  auto config = SshConfig::parse({path, std::move(**text)}, [&](const std::string& pattern) {
    return included(pattern, home, folder, check_owner, stop);
  });
  if (!config) return fail(std::move(config.error()));
  out.push_back(std::move(*config));
  return true;
}

}  // namespace

Result<std::optional<std::string>> read_ssh_file(const std::string& path, const StopReading& stop) {
  return read_file(path, false, stop);
}

Result<std::vector<SshConfig>> read_ssh_config(const std::optional<std::string>& named,
                                               const std::string& home, const std::string& system,
                                               const StopReading& stop) {
  std::vector<SshConfig> out;
  const std::string folder = home + "/.ssh";
  if (named) {
    if (*named == "none") return out;
    auto added = add_config(out, *named, home, folder, false, stop);
    if (!added) return fail(std::move(added.error()));
    if (*added) return out;
    return fail(Error{ErrorKind::usage, cat("read the ssh configuration '", *named, "'"), "",
                      errno_text(ENOENT), "name a file that is there, or none"});
  }
  if (auto added = add_config(out, folder + "/config", home, folder, true, stop); !added) {
    return fail(std::move(added.error()));
  }
  if (auto added = add_config(out, system + "/ssh_config", home, system, false, stop); !added) {
    return fail(std::move(added.error()));
  }
  return out;
}

Result<void> append_known_host(const std::string& path, const std::string& name, std::uint16_t port,
                               const KnownKey& key) {
  const std::string what = cat("add the key of '", name, "' to '", path, "'");
  const auto is_plain = [](char c) {
    return c > ' ' && c != 0x7f && std::string_view(",*?!|@#").find(c) == std::string_view::npos;
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_plain) ||
      !is_key_of_type(key.type, key.blob)) {
    return fail(Error{ErrorKind::protocol, what, "",
                      cat("'", name, "' or its ", key.type, " key is malformed"), ""});
  }
  const auto failed = [&](int number) {
    return fail(os_error(ErrorKind::io, what, number, "the host was reached all the same"));
  };
  if (const auto slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
    if (::mkdir(path.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) return failed(errno);
  }
  const Fd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return failed(errno);
  // If the last line has no newline, the new line would become a part of it.
  char last = '\n';
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size > 0 && ::pread(file.get(), &last, 1, size - 1) != 1) return failed(errno);
  const std::string line = cat(last == '\n' ? "" : "\n", known_hosts_name(name, port), " ",
                               key.type, " ", key.blob, "\n");
  const ssize_t wrote = retry([&] { return ::write(file.get(), line.data(), line.size()); });
  if (wrote == static_cast<ssize_t>(line.size())) return {};
  return failed(wrote < 0 ? errno : ENOSPC);
}

}  // namespace scela
