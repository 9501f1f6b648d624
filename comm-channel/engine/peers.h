// The ranks of the job as one process knows them: the number of each on this node, whether it has
// ended, and what was exchanged with it. The parts of the messenger use it
// (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

class Peers {
 public:
  // `world` must outlive this object. Without shared memory no rank has a number on the node.
  Peers(const World& world, bool has_shared_memory);

  int size() const { return world_.size; }
  int own_rank() const { return world_.rank; }

  // Returns whether the rank is reached by the shared memory of this node. Then local_number()
  // returns its number there, from 0.
  bool is_local(int rank) const { return at(rank).local >= 0; }
  std::uint32_t local_number(int rank) const { return static_cast<std::uint32_t>(at(rank).local); }
  // Returns the ranks of this node, by their numbers there.
  const std::vector<std::int32_t>& ranks_here() const { return ranks_here_; }
  // Makes all ranks not local, because the shared memory is gone.
  void leave_node();

  // Records that the rank has ended, once for a rank. `why` is empty, or says why the rank cannot
  // be reached.
  void record_end(int rank, std::string why);
  bool has_ended(int rank) const { return at(rank).ended; }
  // Returns the `why` of record_end(); empty if that was not called.
  const std::string& why_lost(int rank) const { return at(rank).why; }
  // Returns the ranks that have ended, in the order of record_end().
  const std::vector<int>& ended() const { return ended_; }
  // Returns true if all other ranks have ended, and there were others.
  bool all_others_ended() const {
    return world_.size > 1 && ended_.size() + 1 == static_cast<std::size_t>(world_.size);
  }

  // These count a message to the rank, or of the rank, of so many bytes.
  void count_sent(int rank, std::size_t bytes);
  void count_received(int rank, std::uint64_t bytes);
  const PeerCounters& counters(int rank) const { return at(rank).counters; }
  // Adds the messages of all ranks to the counters.
  void add_counters(Counters& counters) const;

 private:
  struct Peer {
    std::int32_t local = -1;  // -1: not reached by shared memory
    bool ended = false;
    PeerCounters counters;
    std::string why;
  };

  Peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& at(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  const World& world_;
  const std::vector<std::int32_t> ranks_here_;
  std::vector<Peer> peers_;  // by rank
  std::vector<int> ended_;
};

// These are called for each message.
inline void Peers::count_sent(int rank, std::size_t bytes) {
  PeerCounters& their = at(rank).counters;
  ++their.messages_sent;
  their.bytes_sent += bytes;
}

inline void Peers::count_received(int rank, std::uint64_t bytes) {
  PeerCounters& their = at(rank).counters;
  ++their.messages_received;
  their.bytes_received += bytes;
}

}  // namespace scela::channel
