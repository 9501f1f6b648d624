// The keys of a job, as far as an agent may have them: those of its slice's nodes, and that by
// which agents recognize each other's processes. scela-run makes the keys, and they go down the
// tree; only shells ever see them. The shell uses this part, on its loop.
#pragma once

#include "common/core/result.h"
#include "nla/core/wire/link_frames.h"
#include "nla/guard/agent_mark.h"
#include "nla/keys/node_keys.h"
#include "nla/node/shell_context.h"

namespace scela::nla {

class JobKeys {
 public:
  explicit JobKeys(const ShellContext& context) : context_(context) {}

  // Returns true once the keys are there.
  bool known() const { return !keys_.empty(); }
  // Keeps the keys that the parent has sent (nla/core/wire/link_frames.h). Returns false if they
  // are malformed.
  bool accept(Result<Introduction> introduction);
  // Returns the first frame for the child with this slice: it has the keys of the slice's nodes.
  // The first call at the root makes the keys.
  Introduction introduction(Slice child);

  const NodeKeys& keys() const { return keys_; }
  const AgentMarks& marks() const { return marks_; }
  // Returns what the parent has said of itself, without the keys.
  const Introduction& parent() const { return parent_; }
  // Another parent has replaced the first one. `root` says that it is scela-run.
  void set_parent_is_root(bool root) { parent_.root = root; }

 private:
  const ShellContext& context_;
  NodeKeys keys_;     // of this agent's slice
  AgentMarks marks_;  // by the key of all agents of the job
  Introduction parent_;
};

}  // namespace scela::nla
