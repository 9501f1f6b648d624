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

// Returns $SCELA_HCA_SOCKET, or else "scela-hca-UID/socket" in $TMPDIR or /tmp. If the environment
// names the job, its name is appended (hca/core/wire/job_socket.h).
std::string default_socket();

// Returns the job that the environment names, or an empty string if it names none.
std::string launchers_job_here();

class EngineRuntimeDir {
 public:
  // Creates the directory if it does not exist. Returns an error if it is another user's, or open
  // to others. `socket` is the path of the socket in it, which is not made yet.
  static Result<EngineRuntimeDir> at(const std::string& socket);

  // Blocks until it has the lock. A process holds the lock for a few milliseconds at most. The lock
  // ends when the descriptor is closed.
  Result<Fd> lock() const;
  // Returns an invalid descriptor if another process has the lock. Returns std::nullopt if the lock
  // file cannot be opened, because the directory is gone.
  std::optional<Fd> try_lock() const;

  // The caller holds the lock. Returns an error if an engine listens there already. Otherwise it
  // returns the listening socket, which replaces that of an engine that was killed.
  Result<Fd> listen();
  // Removes the socket if it is still the one that listen() made. If the directory was removed,
  // another engine may have made a new one.
  void remove_socket() const;

  // Connects to the engine that runs there.
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
