#include "nla/node/job_keys.h"

#include <sys/random.h>

#include <utility>

namespace scela::nla {

namespace {

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const ssize_t got = ::getrandom(bytes.data() + have, size - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

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
