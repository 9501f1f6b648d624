// The agent's own executable file: what other nodes are told of it, and its bytes for nodes that
// lack it. The spawners use it to ship the agent; scela-nla uses it to check its own build.
//
// The bytes are read when they are needed, once for each object. Reading blocks as reading a local
// file does. An object is used by one thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/chunk.h"
#include "common/core/result.h"

namespace scela::nla {

// The executable file of scela-nla.
class AgentFile {
 public:
  // Opens the file `path` on this machine ("/proc/self/exe" in an agent). `remote` is its path on
  // other nodes, or empty if they do not have it. Error (io): the file cannot be opened. Error
  // (launch): it is no 64-bit ELF executable with a build id.
  static Result<AgentFile> open(const std::string& path, std::string remote);

  // Returns the path on other nodes; empty: they do not have the file.
  const std::string& remote() const { return remote_; }
  const std::string& build() const { return build_; }      // hexadecimal
  const std::string& machine() const { return machine_; }  // as `uname -m` says it
  std::uint64_t size() const { return size_; }

  // Returns what a node without the agent reads: the digest in hexadecimal (SHA-256), a newline,
  // then the file. Error (io): the file cannot be read any more.
  Result<Chunk> shipment();

 private:
  std::string path_;
  std::string remote_;
  std::string build_;
  std::string machine_;
  std::uint64_t size_ = 0;
  Chunk shipment_;
};

// Returns the SHA-256 digest of the file, in hexadecimal. Error (io): it cannot be read.
Result<std::string> file_digest(const std::string& path);

}  // namespace scela::nla
