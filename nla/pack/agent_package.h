// The package of an agent: the file that is sent to nodes where the agent is not installed
// (package_format.h). Spawners send it; the build makes it (make_package.cpp).
//
// Reading blocks as reading a local file does. An object is used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/core/chunk.h"
#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::nla {

// The name of the file. It lies beside scela-nla, or in ../libexec/scela.
inline constexpr char kPackageName[] = "scela-nla.package";

// The facts of a package, which are in the file itself. Digests are in hexadecimal.
struct PackageFacts {
  std::uint64_t size = 0;      // of the package, in bytes
  std::string agent_build;     // the build id of the agent's executable
  std::string agent_machine;   // as `uname -m` prints it
  std::string agent_sha256;    // of the executable
  std::string agent_blake2b;   // of the executable, 512 bits
  std::string package_sha256;  // of the package, without this digest itself
};

// A package that can be read.
class AgentPackage {
 public:
  // Reads the facts of the open file. `name` is for texts of errors. Error (io): the file cannot be
  // read. Error (launch): it is no package.
  static Result<AgentPackage> open(Fd file, std::string name);

  const PackageFacts& facts() const { return facts_; }
  // Returns the facts of the package of the small agent (nla/leaf.cpp), which is in this one;
  // std::nullopt: there is none.
  const std::optional<PackageFacts>& leaf() const { return leaf_; }
  // Returns all bytes of the file, which are read once. Error (io): the file cannot be read. Error
  // (launch): the bytes do not have the digest `sha256` (PackageFacts::package_sha256), and the
  // file must not be executed.
  Result<Chunk> bytes(const std::string& sha256);
  // Returns the bytes of the package of the small agent. Requires leaf(). `sha256` and the errors
  // are as above: both packages are verified.
  Result<Chunk> leaf_bytes(const std::string& sha256);

 private:
  AgentPackage(Fd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  Fd file_;
  std::string name_;
  PackageFacts facts_;
  std::optional<PackageFacts> leaf_;
  std::uint64_t leaf_at_ = 0;
  Chunk bytes_;
};

// Opens the package of the executable `agent` with this build id. It is searched beside that
// executable, beside the program that runs here, and in ../libexec/scela from there. Error
// (launch): it is in none of these places; those that were tried are in the text.
Result<AgentPackage> find_package(const std::string& agent, const std::string& build);

// Returns the digest of a package that consists of `content` and a trailer. `trailer` are the bytes
// of the trailer with a package_sha256 of zeros.
std::string package_digest(std::string_view content, std::string_view trailer);

}  // namespace scela::nla
