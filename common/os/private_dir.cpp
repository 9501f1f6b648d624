#include "common/os/private_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

// Deeper trees than this are left, because a recursion without bound would be the worse fault.
constexpr int kMaxDepth = 200;

// Opens a directory of `base` that is no mount point: a file system mounted there is not ours to
// remove.
Fd open_below(int base, const char* name, int access = O_RDONLY) {
  open_how how{};
  how.flags = static_cast<unsigned>(access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  const auto opened = static_cast<int>(::syscall(SYS_openat2, base, name, &how, sizeof how));
  if (opened >= 0 || errno != ENOSYS) return Fd(opened);
  // On kernels before 5.6 this sees another file system, but not a bind mount of the same one.
  struct stat here {
  }, there{};
  Fd directory(::openat(base, name, access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory && ::fstat(base, &here) == 0 && ::fstat(directory.get(), &there) == 0 &&
      here.st_dev != there.st_dev) {
    errno = EXDEV;
    return Fd();
  }
  return directory;
}

// Changes the mode by descriptor: the name may lead elsewhere by now, and a change of mode follows
// links.
bool make_readable(int base, const char* name) {
  const Fd found = open_below(base, name, O_PATH);
  return found && ::chmod(cat("/proc/self/fd/", found.get()).c_str(), 0700) == 0;
}

int remove_content(Fd directory, int depth) {
  if (depth > kMaxDepth) return ELOOP;
  // Its owner may have made it read-only; it is the owner's to remove.
  ::fchmod(directory.get(), 0700);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(directory.get()), ::closedir);
  if (!listing) return errno;
  const int base = directory.release();  // closed by closedir
  int failure = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (::unlinkat(base, entry->d_name, 0) == 0) continue;
    if (errno != EISDIR && errno != EPERM) {
      failure = errno;
      continue;
    }
    Fd child = open_below(base, entry->d_name);
    if (!child && errno == EACCES && make_readable(base, entry->d_name)) {
      child = open_below(base, entry->d_name);
    }
    const int inner = child ? remove_content(std::move(child), depth + 1) : errno;
    if (::unlinkat(base, entry->d_name, AT_REMOVEDIR) != 0) failure = inner != 0 ? inner : errno;
  }
  return failure;
}

// Returns true if the entry is ours, is old enough and, if it is a directory, is held by no
// process.
bool is_abandoned(int base, const char* name, std::time_t changed_before) {
  struct stat facts {};
  if (::fstatat(base, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (facts.st_uid != ::getuid() || facts.st_mtime > changed_before) return false;
  if (S_ISREG(facts.st_mode)) return true;
  if (!S_ISDIR(facts.st_mode)) return false;
  const Fd directory(::openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return directory && ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::string temporary_base() {
  const char* wanted = std::getenv("TMPDIR");
  struct stat facts {};
  if (wanted != nullptr && *wanted == '/' && ::stat(wanted, &facts) == 0 &&
      S_ISDIR(facts.st_mode)) {
    return wanted;
  }
  return "/tmp";
}

std::string memory_base(std::uint64_t free_bytes) {
  constexpr char kBase[] = "/dev/shm";
  struct statfs facts {};
  if (::statfs(kBase, &facts) != 0 || facts.f_type != TMPFS_MAGIC) return {};
  // A mount without a limit counts no blocks.
  const auto free =
      static_cast<std::uint64_t>(facts.f_bavail) * static_cast<std::uint64_t>(facts.f_bsize);
  if (facts.f_blocks != 0 && free < free_bytes) return {};
  return ::access(kBase, W_OK | X_OK) == 0 ? kBase : std::string();
}

std::string private_directory_path(std::string_view base, std::string_view name) {
  std::string leaf(name);
  std::replace(leaf.begin(), leaf.end(), '/', '_');
  return cat(base, base.ends_with('/') ? "" : "/", leaf);
}

Result<void> make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  const int number = errno;
  return fail(os_error(ErrorKind::launch, cat("make the node's directory '", path, "'"), number,
                       number == EEXIST ? "remove it: it is left from another job"
                                        : "name a directory that can be written in TMPDIR"));
}

Fd lock_directory(const std::string& path) {
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory && ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) directory.reset();
  return directory;
}

bool is_directory_locked(const std::string& path) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return directory && ::flock(directory.get(), LOCK_SH | LOCK_NB) != 0;
}

void remove_abandoned(const std::string& base, std::string_view prefix, std::string_view suffix,
                      std::chrono::seconds age) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(base.c_str()), ::closedir);
  if (!listing) return;
  const std::time_t changed_before = std::time(nullptr) - static_cast<std::time_t>(age.count());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    if (!is_abandoned(::dirfd(listing.get()), entry->d_name, changed_before)) continue;
    if (::unlinkat(::dirfd(listing.get()), entry->d_name, 0) == 0) continue;
    static_cast<void>(remove_tree(cat(base, "/", name)));
  }
}

Result<void> remove_tree(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  const std::size_t slash = path.rfind('/');
  const std::string base = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd parent(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // Another file system may be mounted over the directory itself too.
  Fd directory =
      open_below(parent.get(), path.c_str() + (slash == std::string::npos ? 0 : slash + 1));
  int failure = directory ? remove_content(std::move(directory), 0) : errno;
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  if (failure == 0) failure = errno;
  return fail(os_error(ErrorKind::io, cat("remove the directory '", path, "'"), failure));
}

}  // namespace scela
