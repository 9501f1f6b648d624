// This part is for the root of a job that was launched while agents were being started
// (event::Launch). Requests of ranks that concern other nodes wait here until all first ranks have
// been started or will not be. So the other parts see these requests as in any job, where every
// node that has ranks is known before the first request. The agent's core uses this part, and one
// thread at a time calls it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "nla/core/tree/core_context.h"

namespace scela::nla {

// The state says what becomes of the requests.
enum class HeldState : std::uint8_t {
  holds,   // agents are being started
  passes,  // all first ranks were started or will not be
  // The job was ordered to end while agents were being started. Its ranks need no answers any more.
  drops,
};

class HeldRequests {
 public:
  // `context` is borrowed.
  explicit HeldRequests(const Context& context) : context_(context) {}

  // Keeps or drops the message of a child, and returns true, if no other part is to have it now: it
  // is a request of a rank, or it tells what became of a rank after such a request. An abort, which
  // ends the job, is never kept.
  bool hold(const event::Received& event);
  // Returns true if this child has sent more than may wait (kMaxHeld). It breaks the protocol.
  bool is_too_much(LinkId child) const;
  // Returns those messages of this child that tell of ends, in the order in which they came, and
  // drops its requests. To be called before the child is taken as lost: ranks that have ended
  // before that keep their verdicts.
  std::vector<event::Received> take_ends(LinkId child);
  // Returns the messages that wait, in the order in which they came. From then on none is kept. If
  // the job `goes_on`, requests are passed on, and otherwise they are dropped.
  std::vector<event::Received> release(bool goes_on);
  // Returns true if messages may wait.
  bool holds() const { return context_.launched_early && state_ == HeldState::holds; }

 private:
  const Context& context_;
  std::vector<event::Received> held_;
  std::map<LinkId, std::uint64_t> bytes_;  // of held_, by child
  HeldState state_ = HeldState::holds;
};

}  // namespace scela::nla
