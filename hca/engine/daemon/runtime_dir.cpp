#include "hca/engine/daemon/runtime_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "hca/core/wire/job_socket.h"

namespace scela::hca {

namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Error{ErrorKind::usage, cat("use the socket '", path, "'"), "",
                      cat("its path is longer than ", sizeof address.sun_path - 1, " bytes"),
                      "set SCELA_HCA_SOCKET to a shorter one"});
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<Fd> make_socket(int flags) {
  Fd made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!made) return fail(os_error(ErrorKind::io, "make a socket", errno));
  return made;
}

}  // namespace

std::string launchers_job_here() {
  return launchers_job([](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  });
}

std::string default_socket() {
  if (const char* const path = std::getenv("SCELA_HCA_SOCKET"); path != nullptr && *path != 0) {
    return path;
  }
  return cat(temporary_base(), "/scela-hca-", ::geteuid(), "/", socket_name(launchers_job_here()));
}

Result<EngineRuntimeDir> EngineRuntimeDir::at(const std::string& socket) {
  if (auto address = address_of(socket); !address) return fail(address.error());
  const std::string directory = directory_of(socket);
  const std::string what = cat("use the directory '", directory, "'");
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(os_error(ErrorKind::io, what, errno));
  }
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) return fail(os_error(ErrorKind::io, what, errno));
  const char* const hint = "name another one with --socket or SCELA_HCA_SOCKET";
  if (!S_ISDIR(status.st_mode)) {
    return fail(Error{ErrorKind::usage, what, "", "it is no directory", hint});
  }
  if (status.st_uid != ::geteuid()) {
    return fail(Error{ErrorKind::usage, what, "", cat("it belongs to user ", status.st_uid), hint});
  }
  if ((status.st_mode & 077) != 0) {
    return fail(Error{ErrorKind::usage, what, "", "others than its owner may use it",
                      cat("chmod 700 ", directory)});
  }
  return EngineRuntimeDir(socket);
}

Fd EngineRuntimeDir::open_lock() const {
  return Fd(::open(cat(directory_of(socket_), "/lock").c_str(),
                   O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

Result<Fd> EngineRuntimeDir::lock() const {
  Fd opened = open_lock();
  if (!opened || retry([&] { return ::flock(opened.get(), LOCK_EX); }) != 0) {
    return fail(os_error(ErrorKind::io, cat("lock the socket '", socket_, "'"), errno));
  }
  return opened;
}

std::optional<Fd> EngineRuntimeDir::try_lock() const {
  Fd opened = open_lock();
  if (!opened) return std::nullopt;
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) opened.reset();
  return opened;
}

Result<Fd> EngineRuntimeDir::connect() const {
  auto address = address_of(socket_);
  auto made = make_socket(0);
  if (!made) return made;
  if (retry([&] {
        return ::connect(made->get(), reinterpret_cast<const sockaddr*>(&*address),
                         sizeof *address);
      }) != 0) {
    return fail(os_error(ErrorKind::unreachable, cat("reach the engine at '", socket_, "'"), errno,
                         "none runs there"));
  }
  return made;
}

Result<Fd> EngineRuntimeDir::listen() {
  if (connect()) {
    return fail(Error{ErrorKind::launch, cat("listen at '", socket_, "'"), "",
                      "an engine runs there already", "scela-hca --status tells what it does"});
  }
  ::unlink(socket_.c_str());  // left by an engine that was killed
  auto address = address_of(socket_);
  auto made = make_socket(SOCK_NONBLOCK);
  if (!made) return made;
  if (::bind(made->get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::chmod(socket_.c_str(), 0600) != 0 || ::listen(made->get(), 1024) != 0) {
    return fail(os_error(ErrorKind::io, cat("listen at '", socket_, "'"), errno));
  }
  struct stat status {};
  if (::lstat(socket_.c_str(), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  return made;
}

void EngineRuntimeDir::remove_socket() const {
  struct stat status {};
  if (::lstat(socket_.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == inode_) ::unlink(socket_.c_str());
}

}  // namespace scela::hca
