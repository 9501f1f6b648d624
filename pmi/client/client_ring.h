// A rank's end of the ring: the memory through which a rank talks to its agent instead of through a
// socket (pmi/protocol/ring_layout.h). client::Connection owns it.
//
// Calls block. One thread reads; another thread may send meanwhile, as a thread that aborts does.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "common/os/sealed_memory.h"
#include "pmi/protocol/ring.h"
#include "pmi/protocol/segment_layout.h"
#include "pmi/protocol/use_notes.h"

namespace scela::pmi::client {

class Ring {
 public:
  // Makes the rank's end from two descriptors that the agent has sent: the ring's memory, and an
  // eventfd that wakes the agent, the doorbell. Returns a null pointer if `memory` does not have
  // the layout, if the agent is not this process's parent, or if this system cannot say when the
  // agent ends.
  static std::unique_ptr<Ring> make(Fd memory, Fd doorbell);
  // Tells the agent that this process now uses the ring; the agent then closes its end of the
  // socket. The caller calls this once, before send() and read_more().
  void take();

  // Records that a get has read this key's pair in the node's segment, for the agent's cache.
  void note_use(std::string_view key) { uses_.note(segment::hash_of(key)); }

  // Writes `text` to the ring and blocks until all of it is written. If it cannot be written, the
  // next read_more() that finds no bytes returns the error.
  void send(std::string_view text);
  // Blocks until the agent has written bytes, and appends them to `input`. Error (protocol): the
  // agent has ended or closed the ring, a request could not be sent, or the memory is spoilt.
  Result<void> read_more(std::string& input);

 private:
  // `agent` is a pidfd of the agent.
  Ring(SealedMemory memory, Fd doorbell, Fd agent);
  // Returns false if the text cannot be written whole: the agent has ended or closed the ring, or
  // the doorbell does not work.
  bool try_send(std::string_view text);
  // Returns false if the doorbell cannot be written to: this program has closed the descriptor.
  bool ring_doorbell() const;
  // Sleeps until the agent's counter `news` differs from `seen`, or for at most a second.
  // `for_what` is kForAnswers or kForRoom (pmi/protocol/ring_layout.h). Returns false only if the
  // agent has ended.
  bool wait(std::uint64_t seen, std::uint64_t for_what);

  SealedMemory memory_;
  Fd doorbell_;
  Fd agent_;  // a pidfd
  ring::ClientEnd end_;
  ring::UseNotes uses_;
  const std::uint32_t* futex_;  // in the memory: the agent's counter `news`
  std::mutex sending_;
  std::atomic<bool> unsent_{false};  // a request could not be sent
};

}  // namespace scela::pmi::client
