// The place where programs find the engine: a socket in a directory that only this user can enter.
// A process that starts or ends an engine there holds the directory's lock. The engine's process
// and `scela-hca --status` use it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::hca {

// Returns the path of the socket where this process's engine listens. That is $SCELA_HCA_SOCKET, or
// else "scela-hca-UID/socket" in $TMPDIR or /tmp. If the environment names the job, its name is
// appended (hca/core/wire/job_socket.h).
std::string default_socket();

// Returns the job that this process's environment names (launchers_job()), or an empty string if it
// names none.
std::string launchers_job_here();

// The directory, the path of the socket in it, and the directory's lock.
class EngineRuntimeDir {
 public:
  // Creates the directory of the path `socket` if it does not exist. The socket itself is not made
  // yet. Returns an error if the directory is another user's or open to others, or if the path is
  // too long.
  static Result<EngineRuntimeDir> at(const std::string& socket);

  // Takes the directory's lock, and blocks until it has it. A process holds the lock for a few
  // milliseconds at most. The lock ends when the returned descriptor is closed.
  Result<Fd> lock() const;
  // Takes the lock without waiting. Returns an invalid descriptor if another process has it.
  // Returns std::nullopt if the lock file cannot be opened, because the directory is gone.
  std::optional<Fd> try_lock() const;

  // Makes the socket and returns it, listening and not blocking. It replaces that of an engine that
  // was killed. The caller holds the lock. Returns an error if an engine listens there already.
  Result<Fd> listen();
  // Removes the socket's path if it still leads to the socket that listen() made. If the directory
  // was removed, another engine may have made a new one.
  void remove_socket() const;

  // Connects to the engine that listens there. Returns an error if none does.
  Result<Fd> connect() const;

  const std::string& socket() const { return socket_; }

 private:
  explicit EngineRuntimeDir(std::string socket) : socket_(std::move(socket)) {}
  // Opens or makes the lock file. The descriptor is invalid if that fails.
  Fd open_lock() const;

  std::string socket_;
  dev_t device_ = 0;  // the socket's file
  ino_t inode_ = 0;
};

}  // namespace scela::hca
