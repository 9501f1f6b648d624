// An OffloadGroup has one communicator's operations on an adapter: its queues, its connected peers,
// and its runs in the order in which they were started. The engine executor uses it. Two threads
// must not use it at once.
//
// A peer is connected when a list first speaks with it, by messages of the transport. Each side
// tells the other of its queues, and then that it is ready. From then on, a receive waits for a
// note from the peer. It fails if the peer ends. A rank that breaks off tells all its peers which
// rank is at fault.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/core/offload.h"
#include "collectives/executors/factory.h"
#include "collectives/offload/queue_set.h"
#include "collectives/offload/templates.h"

namespace scela::collectives {

// A message between two ranks: the ends of their queues, or a fault. The struct has no padding, so
// that all its bytes are set.
struct EngineWord {
  std::uint64_t magic = 0;    // tells such words from other bytes
  std::int32_t rank = -1;     // of a fault: the rank, as the transport's
  std::uint8_t is_fault = 0;  // 1: a fault
  std::uint8_t code = 0;      // of a fault: a FaultCode
  std::uint8_t mtu = 0;       // as in QueueEnd
  std::uint8_t refusal = 0;   // of a fault: a Refusal
  std::uint32_t out = 0, in = 0, tell = 0, first_packet = 0;  // as in QueueEnd
  std::uint16_t lid = 0;
  std::uint8_t unused_too[6] = {};
  std::array<std::uint8_t, 16> gid{};
};

// Keeps messages that no caller waits for, until they have been sent. Not for two threads at once.
class Parting {
 public:
  explicit Parting(Transport& transport) : transport_(transport) {}
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;
  ~Parting();
  // Sends a copy of the word, and returns at once.
  void send(int peer, Route route, const EngineWord& word);
  // Frees the words that have been sent. It is called now and then.
  void sweep();

 private:
  struct Message {
    Transport::Ticket ticket = 0;
    std::unique_ptr<EngineWord> word;
  };
  Transport& transport_;
  std::vector<Message> messages_;
};

class OffloadGroup {
 public:
  // The adapter, the transport and `parting` must outlive the group.
  OffloadGroup(Adapter& adapter, Transport& transport, Parting& parting, ContextId context);
  OffloadGroup(const OffloadGroup&) = delete;
  OffloadGroup& operator=(const OffloadGroup&) = delete;
  ~OffloadGroup();

  // Starts a run that is bound. The run belongs to the group until it is over.
  void start(Run& run);
  // Connects peers, posts runs and ends runs as far as possible. Returns true if a run has ended.
  bool advance();
  // Looks for faults, and breaks off if there is one.
  void look();
  // Breaks off because this run is cancelled. All runs of the group fail, here and on the ranks
  // that need them. The adapter executes none of them any more once advance() has returned.
  void cancel(Run& run, Fault why);
  // Fails all runs of the group, later ones included. The fault's rank is the transport's.
  void give_up(Fault why);

  // Returns, once, the word that all ranks of the context must be told, if this rank has found that
  // a rank's call differs. ranks() are these ranks. This group may speak with fewer ranks than they
  // do.
  std::optional<AbortedContext> word_to_all();
  std::span<const int> ranks() const { return ranks_; }

  // Returns the run that all others wait behind, or null if there is none.
  Run* first() const { return runs_.empty() ? nullptr : runs_.front()->run; }

  bool has(const Run& run) const;
  bool empty() const { return runs_.empty(); }
  PostedRuns posted() const { return posted_; }
  std::size_t queue_pairs() const { return queues_ ? queues_->queue_pairs() : 0; }
  // Adds the transport's messages by which peers are being connected. Returns true if a run waits
  // for any.
  bool connects(std::vector<Transport::Ticket>& tickets) const;
  // Does what QueueSet::arm() does.
  void arm() {
    if (queues_) queues_->arm();
  }
  // Set by the executor once no more runs of this context are started.
  bool is_forgotten = false;

 private:
  using Clock = std::chrono::steady_clock;
  // A peer is `unknown` until this rank tells it of its queues. It is `greeting` until it has told
  // of its own, `readying` until it has said that it is ready, and then `up`.
  enum class Stage : std::uint8_t { unknown, greeting, readying, up };
  struct Peer {
    Stage stage = Stage::unknown;
    bool sends = false, receives = false;  // tickets that are under way
    Transport::Ticket sent = 0, received = 0;
    EngineWord to, from;                 // the buffers of these two messages
    bool watches = false;                // a receive of a note is under way
    Transport::Ticket watch = 0;         // of that receive
    EngineWord note;                     // its buffer
    std::shared_ptr<const Fault> ended;  // set if the peer has ended
  };
  // Says why a run was not posted whole: a peer was not connected, or the queues were full.
  enum class Late : std::uint8_t { connecting, full };
  // A run that was started. Entries of runs that are over are used again.
  struct Started {
    Run* run = nullptr;
    std::shared_ptr<const OffloadTemplate> made;
    std::size_t posted = 0;  // tasks, plus one for the end
    std::uint64_t last = 0;  // number of the task that ends it
    std::vector<std::uint64_t> signals;
    std::size_t passed = 0;  // signals that have passed
    Late late = Late::full;  // why it was last not posted whole
    // The reasons for which it was not posted whole: a peer was not connected, or the queues were
    // full.
    bool connected_late = false, in_parts = false;
    std::byte* memory[4] = {};  // by OffloadPlace::Memory
    channel::verbs::Registration registered[4];
    const OffloadPlan& plan() const { return made->plan; }
  };

  // Connects peers as far as possible. Returns true if all peers of the run are connected. If
  // false, the caller tries again later, unless the group has broken off.
  bool connect(const Started& started);
  // Does the same for one peer.
  bool connect(int rank, Peer& peer);
  // Makes the queues to a peer and tells it of them. If that fails, the group breaks off.
  void greet(int rank, Peer& peer);
  // Sends a word to the peer, and posts the receive of the answer.
  void say(int rank, Peer& peer, const EngineWord& word);
  // Returns true if the last word has been sent and the answer is here. If false, one of them is
  // under way, or the group has broken off.
  bool heard(int rank, Peer& peer);
  // Posts as much of the run as possible. Returns true if all of it is posted.
  bool post(Started& started);
  // Posts the next task. Returns false if there is no room, or if the group has broken off.
  bool post_next(Started& started);
  // Counts, once for each reason, that a run was not posted whole.
  void put_off(Started& started, Late why);
  // Counts the same for all runs behind this index of runs_, with that run's reason.
  void put_off_behind(std::size_t first);
  // Breaks off because posting has failed. Returns false always, for its callers to return.
  bool cannot_post(const Error& why);
  // Registers the run's buffers with the adapter, and takes its staging memory.
  Result<void> register_memory(Started& started);
  // Ends the runs that are over, in order. Returns true if a run has ended or the group has broken
  // off.
  bool finish();
  // Removes the first entry of runs_, and keeps it for a later run.
  void drop_first();
  // Handles a failure of the adapter. It breaks off at once if the cause is clear. Otherwise it
  // waits a few seconds for news of the rank at fault.
  void suspect(const QueueSet::PeerFailure& trouble);
  // Looks for a note from a peer, or for its end. Returns false if there is neither. A note breaks
  // the group off; an end only sets `peer.ended`.
  bool learn(int rank, Peer& peer);

  // Notes the first fault and tells the peers. Later faults have no effect. end_all() must follow.
  void break_off(Fault why);
  // Destroys the queues and ends all runs with the fault of break_off().
  void end_all();
  // Returns true if the group broke off because this rank has ended.
  bool is_of_dead(int rank) const;
  // Returns the fault with the rank as this run's list numbers it.
  Fault fault_for(const Run& run) const;
  // Returns the transport's number of a rank of the run's list.
  int transport_rank(const Run& run, int peer) const;
  // Returns the route of notes if `watch`, and that of the words that connect peers otherwise.
  Route route(bool watch) const;

  Adapter& adapter_;
  Transport& transport_;
  Parting& parting_;
  const ContextId context_;
  std::unique_ptr<QueueSet> queues_;
  std::map<int, Peer> peers_;  // by rank of the transport
  OffloadTemplates templates_;
  std::vector<std::unique_ptr<Started>> runs_;  // in the order of their starts
  std::vector<std::unique_ptr<Started>> spare_;
  PostedRuns posted_;
  std::optional<Clock::time_point> suspected_;
  std::vector<int> ranks_;  // all of the communicator; transport's
  bool told_all_ = false;
  std::optional<Fault> broken_;  // transport's rank, or -1: this rank
};

}  // namespace scela::collectives
