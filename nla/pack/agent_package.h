// The package of an agent: the file that is sent to nodes where the agent is not installed
// (package_format.h). Spawners send it; the build makes it (make_package.cpp).
//
// Reading blocks as reading a local file does. An object is used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/chunk.h"
#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::nla {

// The name of the file. It lies beside scela-nla, or in ../libexec/scela.
inline constexpr char kPackageName[] = "scela-nla.package";

// The digests of the bytes of a package, in hexadecimal.
struct Digests {
  std::string sha256;
  std::string blake2b;  // of 512 bits

  // Reads "<sha256>:<blake2b>", as text() writes it. Returns empty digests for an empty text.
  static Digests parse(std::string_view text);
  std::string text() const { return sha256.empty() ? std::string() : sha256 + ':' + blake2b; }
};

// The facts of a package.
struct PackageFacts {
  std::uint64_t size = 0;     // in bytes
  std::string agent_build;    // the build id of the agent's executable
  std::string agent_machine;  // as `uname -m` prints it
  // They are empty for a package that was sent: scela-run tells them to agents
  // (nla/io/shell_settings.h).
  Digests digests;
};

// A package or a pair that can be read.
class AgentPackage {
 public:
  // Reads the facts of the open file. `name` is for texts of errors. Error (io): the file cannot be
  // read. Error (launch): it is no package.
  static Result<AgentPackage> open(Fd file, std::string name);

  const PackageFacts& facts() const { return facts_; }
  // Returns the facts of the package of the small agent (nla/leaf.cpp), if this is a pair.
  const std::optional<PackageFacts>& leaf() const { return leaf_; }
  // Makes a pair the package of the large agent alone, for jobs in which no small one is sent.
  void leave_leaf_out();
  // Calls leave_leaf_out() if the package of the large agent has this digest.
  void choose(const std::string& sha256);
  // Returns all bytes of the package, which are read once. Error (io): the file cannot be read.
  // Error (launch): the bytes do not have the digest `sha256`, and must not be executed.
  Result<Chunk> bytes(const std::string& sha256);
  // Returns the bytes of the package of the small agent. Requires leaf(). `sha256` is the digest of
  // the pair, and the errors are as above.
  Result<Chunk> leaf_bytes(const std::string& sha256);

 private:
  AgentPackage(Fd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  Fd file_;
  std::string name_;
  PackageFacts facts_;
  std::optional<PackageFacts> large_, leaf_;  // of a pair
  Chunk bytes_;
};

// Opens the package of the executable `agent` with this build id. It is searched beside that
// executable, beside the program that runs here, and in ../libexec/scela from there. Error
// (launch): it is in none of these places; those that were tried are in the text.
Result<AgentPackage> find_package(const std::string& agent, const std::string& build);

}  // namespace scela::nla
