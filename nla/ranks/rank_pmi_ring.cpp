// Ranks that use memory instead of their sockets (pmi/protocol/ring_layout.h). All of them ring one
// doorbell, and the agent looks at them in turn. The agent holds no descriptor for such a rank.
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/os/futex.h"
#include "nla/ranks/rank_pmi_state.h"

namespace scela::nla {

void RankPmi::Doorbell::ready(bool /*readable*/, bool /*writable*/) {
  // The doorbell is reset before any rank is looked at, so that a rank that rings meanwhile is
  // heard again.
  std::uint64_t rings = 0;
  // This never waits, whatever flags a rank has given the doorbell that it shares.
  iovec part{&rings, sizeof rings};
  if (::preadv2(fd.get(), &part, 1, -1, RWF_NOWAIT) > 0) pmi.rung();
}

void RankPmi::Doorbell::ring() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(fd.get(), &one, sizeof one));  // full: it rings already
}

// Handing over.

void RankPmi::ring(Rank rank, pmi::RequestId id) {
  pmi::Answer answer;
  answer.ok = lend_ring(of(rank));
  if (!answer.ok) answer.error = "this connection is all there is";
  of(rank).server->answered(id, answer);
}

// Lends memory only to the rank's own process, which is a child of this one, so that its end is
// noticed here. A program that the rank has started may be followed by others, which inherit the
// socket.
bool RankPmi::lend_ring(Connection& one) {
  if (one.ring || !one.output.empty() || one.sender == 0 || one.sender != one.process) return false;
  if (!doorbell_ && !hang_doorbell()) return false;
  auto memory =
      SealedMemory::make("scela-rank", pmi::ring::kTotalBytes, SealedMemory::Writers::all);
  if (!memory) return false;
  one.ring.emplace(std::move(*memory), static_cast<std::uint64_t>(::getpid()));
  one.hand_over = {one.ring->memory.fd().get(), doorbell_->fd.get()};
  ringed_.push_back(&one);
  return true;
}

bool RankPmi::hang_doorbell() {
  for (std::unique_ptr<Doorbell>* const which : {&own_doorbell_, &doorbell_}) {
    auto doorbell = std::make_unique<Doorbell>(*this);
    doorbell->fd.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!doorbell->fd) return false;
    poller_->watch(doorbell->fd.get(), true, false, *doorbell);
    *which = std::move(doorbell);
  }
  return true;
}

// The rank's requests through its socket came before those in memory.
void RankPmi::leave_socket(Connection& one) {
  if (one.end.fd) take_rest(one);
  one.end.close();
  one.ring->in_use = true;
}

void RankPmi::drop_ring(Connection& one) {
  std::erase(ringed_, &one);
  one.ring.reset();
}

// Using it.

void RankPmi::rung() {
  for (Connection* const one : ringed_) {
    const Connection::Ring& ring = *one->ring;
    const bool calls = ring.in_use ? ring.end.calls(may_read(*one)) : ring.end.is_taken();
    if (calls && !ring.spoilt) serve_ring(*one);
  }
}

// One turn: takes the requests that are there, and writes the answers that fit.
void RankPmi::serve_ring(Connection& one) {
  Connection::Ring& ring = *one.ring;
  if (!ring.in_use) leave_socket(one);
  if (ring.end.has_room()) write_ring(one);
  // This comes before the rank's present request, which may be a fence that evicts.
  if (host_.used) ring.uses.take(host_.used);
  if (may_read(one) && !ring.spoilt) {
    const auto got = ring.end.read(host_.buffer.bytes, sizeof host_.buffer.bytes);
    if (!got) return spoilt(one);
    one.server->receive({host_.buffer.bytes, *got});
  }
  flush(one);
  // Requests that came meanwhile wait until other ranks had their turn.
  if (may_read(one) && !ring.spoilt && ring.end.arm()) own_doorbell_->ring();
}

void RankPmi::write_ring(Connection& one) {
  Connection::Ring& ring = *one.ring;
  if (ring.spoilt) return;
  while (!one.output.empty()) {
    const std::string_view rest = one.output.front().view().substr(one.offset);
    const auto wrote = ring.end.write(rest);
    if (!wrote) return spoilt(one);
    one.output_bytes -= *wrote;
    one.offset += *wrote;
    if (*wrote < rest.size()) break;  // the rank rings when it has made room
    one.output.pop_front();
    one.offset = 0;
  }
  if (ring.end.tell()) futex_wake(pmi::ring::SharedMemory(ring.memory.base()).futex());
}

void RankPmi::spoilt(Connection& one) {
  one.ring->spoilt = true;
  one.output.clear();
  one.output_bytes = one.offset = 0;
  violation(one.end.rank, "the rank wrote what cannot be into the memory of its requests");
}

// Ends the use of the memory. A process that the rank left behind is woken too, if it waits.
void RankPmi::end_ring(Connection& one) {
  Connection::Ring& ring = *one.ring;
  if (ring.end.is_taken() && !ring.spoilt && !one.server->broken()) {
    const auto got = ring.end.read(host_.buffer.bytes, sizeof host_.buffer.bytes);
    if (got && *got > 0) one.server->receive({host_.buffer.bytes, *got});
  }
  ring.end.close();
  futex_wake(pmi::ring::SharedMemory(ring.memory.base()).futex());
  std::erase(ringed_, &one);
}

}  // namespace scela::nla
