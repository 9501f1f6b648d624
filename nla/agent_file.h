// The agent's own file: what is told of it to other nodes, and its bytes where it is not there.
//
// Reading is done when it is needed; the bytes are read once per process. Blocks as reading a local
// file does.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/chunk.h"
#include "common/core/result.h"

namespace scela::nla {

class AgentFile {
 public:
  // `path`: of the file here ("/proc/self/exe" in an agent); `remote`: where it may be found on
  // other nodes, empty: nowhere.
  // Error (launch): it is no ELF executable with a build id.
  static Result<AgentFile> open(const std::string& path, std::string remote);

  const std::string& remote() const { return remote_; }
  const std::string& build() const { return build_; }      // hexadecimal
  const std::string& machine() const { return machine_; }  // as `uname -m` says it
  std::uint64_t size() const { return size_; }

  // The digest in hexadecimal (SHA-256), a newline, then the file: what a node reads.
  // Error (launch): it cannot be read any more.
  Result<Chunk> shipment();

 private:
  std::string path_;
  std::string remote_;
  std::string build_;
  std::string machine_;
  std::uint64_t size_ = 0;
  Chunk shipment_;
};

// SHA-256 of the file, in hexadecimal. Error (io).
Result<std::string> file_digest(const std::string& path);

}  // namespace scela::nla
