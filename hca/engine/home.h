// Where programs find the engine: a socket in a directory of this user's own, and the lock that
// those take who begin or end an engine there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::hca {

// $SCELA_HCA_SOCKET, else "scela-hca-UID/socket" in $TMPDIR or /tmp, with the job's name behind it
// where the environment says which this is (job_socket.h).
std::string usual_socket();

// What the environment says; empty: nothing.
std::string launchers_job_here();

class Home {
 public:
  // The directory is made if it is not there. Error: it is another user's, or open to others.
  static Result<Home> at(const std::string& socket);

  // Waits for the lock, which a process holds for a few milliseconds at most.
  Result<Fd> lock() const;
  // Invalid: somebody else has it. None: it cannot be had, the directory is gone.
  std::optional<Fd> try_lock() const;

  // Under the lock. Error: an engine listens there already.
  Result<Fd> listen();
  // If it is still the one that listen() made: who removed the directory may have made another.
  void remove_socket() const;

  // To an engine that runs there.
  Result<Fd> connect() const;

  const std::string& socket() const { return socket_; }

 private:
  explicit Home(std::string socket) : socket_(std::move(socket)) {}
  Fd open_lock() const;

  std::string socket_;
  dev_t device_ = 0;  // of the socket's file
  ino_t inode_ = 0;
};

}  // namespace scela::hca
