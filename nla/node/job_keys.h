// The secret keys of a job, as far as an agent may have them: the keys of the nodes of its slice,
// and one key by which agents recognize each other's processes. A slice is the nodes that an agent
// and the agents below it look after. scela-run makes the keys, and they go down the tree of
// agents; only shells, the code around an agent's core, ever see them. The shell uses this part, on
// its loop.
#pragma once

#include "common/core/result.h"
#include "nla/core/wire/link_frames.h"
#include "nla/guard/agent_mark.h"
#include "nla/keys/node_keys.h"
#include "nla/node/shell_context.h"

namespace scela::nla {

class JobKeys {
 public:
  // `context` is borrowed.
  explicit JobKeys(const ShellContext& context) : context_(context) {}

  // Returns true if the agent has the keys.
  bool known() const { return !keys_.empty(); }
  // Keeps the keys that the parent has sent (nla/core/wire/link_frames.h). Returns false, and keeps
  // nothing, if `introduction` is an error or its keys are malformed.
  bool accept(Result<Introduction> introduction);
  // Returns the first frame for the child with this slice: it has the keys of the slice's nodes. At
  // the root, inside scela-run, the first call makes the keys.
  Introduction introduction(Slice child);

  // Returns the keys of the nodes of the slice.
  const NodeKeys& keys() const { return keys_; }
  // Returns the marks by which processes of the job's agents are recognized
  // (nla/guard/agent_mark.h).
  const AgentMarks& marks() const { return marks_; }
  // Returns the parent's introduction of itself, without the keys.
  const Introduction& parent() const { return parent_; }
  // Call it if another parent has replaced the first one. `root` is true if that is scela-run.
  void set_parent_is_root(bool root) { parent_.root = root; }

 private:
  const ShellContext& context_;
  NodeKeys keys_;     // of this agent's slice
  AgentMarks marks_;  // by the key of all agents of the job
  Introduction parent_;
};

}  // namespace scela::nla
