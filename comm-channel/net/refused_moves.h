// Parts of moves that the other side has refused, until it is known why. Either the buffer is not
// there, which is an error of the program, or the process is about to end: its memory goes before
// its end is known. NetworkLink (network_link.h) owns one.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <utility>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/net/link_messages.h"
#include "comm-channel/net/link_requests.h"
#include "comm-channel/net/rank_table.h"

namespace scela::channel {

class RefusedMoves {
 public:
  // `patience` is the time after which parts fail though nothing is known. The other arguments must
  // outlive this object.
  RefusedMoves(LinkMessages& messages, LinkRequests& requests, UnsettledRanks& unsettled,
               connect::Time patience)
      : messages_(messages), requests_(requests), unsettled_(unsettled), patience_(patience) {}

  // Keeps a part of a move to the rank that was refused, until settle(), on_sent() or on_ended()
  // ends it.
  void add(Remote& to, LinkWork& work) {
    unsettled_.add(to);
    if (to.refused.parts.empty()) to.refused.since = unsettled_.listened();
    to.refused.parts.push_back(&work);
  }
  // Goes on with finding out why parts were refused. Returns true if no refused parts are left.
  // Otherwise it asks the peer, if that is possible, and ends parts that have waited for too long.
  // `going`: the rank has a connection, and nothing waits to be sent again.
  bool settle(Remote& remote, bool going) {
    Remote::Refused& refused = remote.refused;
    if (refused.parts.empty()) return true;
    if (going && refused.question == nullptr) ask(remote);
    // The peer computes, or has ended without a report. If it is doubted, that is known soon.
    if (remote.doubt.since || unsettled_.listened() - refused.since <= patience_) return false;
    refused.questioned = 0;
    end(remote, refused.parts.size(), Outcome::device);
    return true;
  }
  // Notes that a message with this buffer was sent with success. If it was the question, the peer
  // has its memory, so the buffers were not there: the parts asked about end with Outcome::device.
  void on_sent(Remote& remote, const std::byte* buffer) {
    Remote::Refused& refused = remote.refused;
    if (refused.question == nullptr || buffer != refused.question) return;
    refused.question = nullptr;
    refused.since = unsettled_.listened();
    if (!remote.lost) end(remote, std::exchange(refused.questioned, 0), Outcome::device);
  }
  // Ends all refused parts of a rank that has ended.
  void on_ended(Remote& remote) { end(remote, remote.refused.parts.size(), Outcome::peer_ended); }

 private:
  // Sends a message: if it comes into the peer's memory, the peer has memory. With RC this takes a
  // new connection, which the peer's program makes. If nothing can be sent now, this is called
  // again.
  void ask(Remote& remote) {
    const std::byte* const buffer = messages_.send_question(remote);
    if (buffer == nullptr) return;
    remote.refused.question = buffer;
    remote.refused.questioned = remote.refused.parts.size();
  }
  // Ends the first `count` refused parts.
  void end(Remote& remote, std::size_t count, Outcome outcome) {
    for (; count != 0; --count) {
      LinkWork& work = *remote.refused.parts.front();
      remote.refused.parts.pop_front();
      requests_.end(work, outcome);
    }
  }

  LinkMessages& messages_;
  LinkRequests& requests_;
  UnsettledRanks& unsettled_;
  const connect::Time patience_;
};

}  // namespace scela::channel
