// The memory that this node's agent (the process of the job there) shares with its ranks: the
// segment. It holds a copy of the node's cache of key-value pairs, and which ranks of the job have
// failed (pmi/protocol/segment_layout.h, decision D6).
//
// The shell, the agent's code with system calls, makes it when the first rank asks for it. So a job
// pays nothing if all its ranks use PMI by themselves, as stock MPI libraries do. The kernel
// frees the memory when its last user is gone. Runs on the shell's loop.
#pragma once

#include <memory>

#include "common/core/result.h"
#include "common/os/sealed_memory.h"
#include "nla/core/tree/agent.h"
#include "pmi/server/segment_writer.h"

namespace scela::nla {

class NodeSegment final : public cache::Mirror {
 public:
  // Makes the memory, copies `core`'s cache into it and follows the cache from then on. `core` must
  // outlive this object. `ranks` is the number of ranks with which the job began. Returns the error
  // of the memory if it cannot be made.
  static Result<std::unique_ptr<NodeSegment>> make(Agent& core, std::uint64_t ranks);
  ~NodeSegment() override;
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;

  // Returns the descriptor for ranks, which can only read the memory.
  int descriptor() const { return memory_.fd().get(); }
  // Returns the key with this hash, if its pair is in the segment, or an empty view if there is
  // none. The view is valid until the cache changes.
  std::string_view key_of(std::uint64_t hash) const { return writer_.key_of(hash); }
  // Marks the ranks as failed and wakes all processes that wait for a change of the segment.
  void mark_dead(const RankSet& ranks);

 private:
  NodeSegment(Agent& core, SealedMemory memory, std::uint64_t ranks);
  // The cache calls it (cache::Mirror): a pair was added or has a new value. Copies the pair.
  void set(std::string_view key, std::string_view value) override { writer_.set(key, value); }
  // The cache calls it: the pair of this key is gone.
  void erase(std::string_view key) override { writer_.erase(key); }

  Agent& core_;
  SealedMemory memory_;
  pmi::segment::Writer writer_;
};

}  // namespace scela::nla
