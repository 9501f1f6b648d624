// The memory that this node's agent shares with its ranks: a copy of the node's cache, and which
// ranks of the job have failed (pmi/protocol/segment_layout.h, decision D6).
//
// Made when the first rank asks for it: a job whose ranks all speak PMI by themselves, as stock MPI
// libraries do, pays nothing. The kernel gives the memory back when its last user is gone.
#pragma once

#include <memory>

#include "common/core/result.h"
#include "common/os/sealed_memory.h"
#include "nla/core/agent.h"
#include "pmi/server/segment_writer.h"

namespace scela::nla {

class NodeSegment final : public cache::Mirror {
 public:
  // Copies `core`'s cache and follows it from then on; `core` must outlive this.
  static Result<std::unique_ptr<NodeSegment>> make(Agent& core, std::uint64_t ranks);
  ~NodeSegment() override;
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;

  // To be handed to ranks: for reading only, whatever they try.
  int descriptor() const { return memory_.fd().get(); }
  // Of a pair that is here; empty: there is none. A view until the cache changes.
  std::string_view key_of(std::uint64_t hash) const { return writer_.key_of(hash); }
  // And wakes who waits for news of that.
  void mark_dead(const RankSet& ranks);

 private:
  NodeSegment(Agent& core, SealedMemory memory, std::uint64_t ranks);
  void set(std::string_view key, std::string_view value) override { writer_.set(key, value); }
  void erase(std::string_view key) override { writer_.erase(key); }

  Agent& core_;
  SealedMemory memory_;
  pmi::segment::Writer writer_;
};

}  // namespace scela::nla
