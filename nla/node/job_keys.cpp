#include "nla/node/job_keys.h"

#include <utility>

#include "common/os/random_bytes.h"

namespace scela::nla {

bool JobKeys::accept(Result<Introduction> introduction) {
  if (!introduction) return false;
  Result<NodeKeys> own = NodeKeys::decode(std::exchange(introduction->keys, {}));
  if (!own) return false;
  keys_ = std::move(*own);
  marks_ = AgentMarks(std::exchange(introduction->common, {}));
  parent_ = std::move(*introduction);
  return true;
}

Introduction JobKeys::introduction(Slice child) {
  const bool root = context_.is_root();
  if (root && keys_.empty()) {
    keys_ = NodeKeys::all(random_bytes(kNodeKeyBytes));
    marks_ = AgentMarks(random_bytes(kCommonKeyBytes));
  }
  std::string common = marks_.key();
  common.resize(kCommonKeyBytes);
  return {root,
          root ? 0 : context_.node_index,
          child.first,
          context_.job_id,
          keys_.of(child).encode(),
          std::move(common)};
}

}  // namespace scela::nla
