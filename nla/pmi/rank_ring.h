// The agent's end of a ring: the memory that a rank may use instead of its socket
// (pmi/protocol/ring_layout.h).
//
// The memory is lent to the rank, which begins to use it when it likes. The agent trusts nothing
// that the rank writes there: memory that holds nonsense is not used any more. RankConnection owns
// this part, on the shell's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/os/sealed_memory.h"
#include "nla/pmi/answer_queue.h"
#include "pmi/protocol/ring.h"
#include "pmi/protocol/use_notes.h"

namespace scela::nla {

class RankRing {
 public:
  enum class State : std::uint8_t {
    lent,    // the rank may take it; its socket is still read
    in_use,  // requests and answers pass here, and the socket is closed
    spoilt,  // the rank wrote what cannot be; the memory is neither read nor written
  };

  // Makes a ring in memory of its own. Returns nullptr if the system refuses the memory.
  static std::unique_ptr<RankRing> make();

  State state() const { return state_; }
  // Returns true if the rank has begun to use the memory.
  bool is_taken() const { return end_.is_taken(); }
  // Makes the state `in_use`. The caller has read the last bytes of the socket before.
  void begin_use() { state_ = State::in_use; }
  // Returns true if the agent has something to do here. In the state `lent`: the rank has taken the
  // memory. In `in_use`: the rank has written requests (they count if `may_read`), or has read
  // answers, so that there is room for those that wait.
  bool calls(bool may_read) const;
  // Returns true if answers wait for room, and there is some.
  bool has_room() const { return end_.has_room(); }

  // Copies requests of the rank to `out`, at most `max_bytes` bytes. Returns their number, or
  // std::nullopt if the memory is spoilt.
  std::optional<std::size_t> read(char* out, std::size_t max_bytes);
  // Moves the answers that fit from the queue to the memory, and wakes the rank if it sleeps.
  // Returns false if the memory is spoilt now.
  bool write(AnswerQueue& answers);
  // Makes the rank ring the agent's doorbell when it writes again. To be called before the agent
  // sleeps. Returns true if there are bytes to read already.
  bool arm() { return end_.arm(); }
  // Calls used(hash) for the pairs that the rank has read in the node's segment since the last
  // call, at most kUses (pmi/protocol/ring_layout.h). `hash` is that of the key.
  void take_uses(const std::function<void(std::uint64_t)>& used) { uses_.take(used); }
  // Tells the rank that the memory is not served any more, and wakes all processes that wait there.
  void close();

  // The descriptor to lend. It is closed once the rank has got it; the memory stays.
  int descriptor() const { return memory_.fd().get(); }
  void close_descriptor() { memory_.close_fd(); }

 private:
  // `memory` is new, of kTotalBytes (pmi/protocol/ring_layout.h).
  explicit RankRing(SealedMemory memory);
  // Wakes all processes that sleep on the memory's futex.
  void wake() const;

  SealedMemory memory_;
  pmi::ring::ServerEnd end_;
  pmi::ring::UseNotes uses_;
  State state_ = State::lent;
};

}  // namespace scela::nla
