// The memory that this node's agent shares with its ranks. It holds a copy of the node's cache, and
// which ranks of the job have failed (pmi/protocol/segment_layout.h, decision D6).
//
// The shell makes it when the first rank asks for it. So a job pays nothing if all its ranks speak
// PMI by themselves, as stock MPI libraries do. The kernel frees the memory when its last user is
// gone. Runs on the shell's loop.
#pragma once

#include <memory>

#include "common/core/result.h"
#include "common/os/sealed_memory.h"
#include "nla/core/tree/agent.h"
#include "pmi/server/segment_writer.h"

namespace scela::nla {

class NodeSegment final : public cache::Mirror {
 public:
  // Copies `core`'s cache and follows it from then on. `core` must outlive this object. `ranks` is
  // the number of ranks with which the job began. Returns the error of the memory if it cannot be
  // made.
  static Result<std::unique_ptr<NodeSegment>> make(Agent& core, std::uint64_t ranks);
  ~NodeSegment() override;
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;

  // For ranks, which can only read the memory.
  int descriptor() const { return memory_.fd().get(); }
  // Returns the key of a pair that is in the segment, or an empty view if there is none. The view
  // is valid until the cache changes.
  std::string_view key_of(std::uint64_t hash) const { return writer_.key_of(hash); }
  // Marks the ranks as failed and wakes all processes that wait for a change of the segment.
  void mark_dead(const RankSet& ranks);

 private:
  NodeSegment(Agent& core, SealedMemory memory, std::uint64_t ranks);
  // The functions of cache::Mirror (cache/mirror.h).
  void set(std::string_view key, std::string_view value) override { writer_.set(key, value); }
  void erase(std::string_view key) override { writer_.erase(key); }

  Agent& core_;
  SealedMemory memory_;
  pmi::segment::Writer writer_;
};

}  // namespace scela::nla
