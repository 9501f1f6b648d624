// The program of a node's PMIx server, scela-pmix: an installed one, or the copy that scela-nla
// carries in its own executable (nla/pack/carried_server.c), so that a node where ScELA is not
// installed needs libpmix only. The copy is executed from memory (memfd_create(2)), so that the
// node needs no room in a file system for it. Used by PmixHelper.
//
// Functions block on the file system, and where they start a process as start_child() does.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "common/os/process/child.h"
#include "nla/ranks/rank_starter.h"

namespace scela::nla {

// The name of the program.
inline constexpr char kPmixServer[] = "scela-pmix";

class PmixProgram {
 public:
  // Finds the program on this node: beside the agent's own executable, then in
  // node.helper_directory, then the carried copy, then in PATH. The copy is preferred to PATH
  // because it is of the agent's own build. Error (launch): there is none; the hint says what to
  // install.
  static Result<PmixProgram> find(const NodeFacts& node);

  // Returns true if the program can be executed on this node. Only the carried copy is tried, by
  // --version: libpmix may be missing, or the C library may be older than that of the build.
  // Blocks until the copy has ended, 5 seconds at most.
  bool runs_here() const;

  // Starts the program. `spec` describes the child but for its `program`; the child gets one more
  // descriptor if this is the carried copy. Requires fewer than 16 descriptors in `spec`.
  tl::expected<pid_t, ChildError> start(ChildSpec spec) const;

  // Returns the path for texts of errors.
  const std::string& name() const { return path_; }

 private:
  PmixProgram(std::string path, Fd copy) : path_(std::move(path)), copy_(std::move(copy)) {}

  std::string path_;
  Fd copy_;  // the carried copy in memory; invalid: an installed program is at path_
};

}  // namespace scela::nla
